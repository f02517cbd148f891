package client

import (
	"context"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"path"
	"strconv"

	"github.com/oklog/ulid/v2"

	"troupe/internal/api"
	"troupe/messages"
)

// Option changes a run.
type Option func(*options)

type options struct {
	text    int
	started func(messages.JobID)
}

// WithText requests the end of the job's output, of at most most bytes, with its result.
func WithText(most int) Option { return func(o *options) { o.text = most } }

// WithID calls known with the job's ULID while the job runs, so that its output can be
// followed. It does not for a run that joins another job by its Key. Run continues after
// known returns.
func WithID(known func(messages.JobID)) Option { return func(o *options) { o.started = known } }

// Run runs one command and returns its record: finished, or running if it was promoted or is
// a background job. When ctx ends first the job is stopped, unless it is in the background.
// If the daemon ends first, Run asks the next one, within 15 s: the job is found by its UID,
// which Run makes if there is none, or by its Key.
func (c *Client) Run(ctx context.Context, r messages.RunCommand, with ...Option) (api.Result, error) {
	var o options
	for _, option := range with {
		option(&o)
	}
	if o.started != nil {
		ctx = httptrace.WithClientTrace(ctx, &httptrace.ClientTrace{
			Got1xxResponse: func(code int, header textproto.MIMEHeader) error {
				if at := header.Get("Location"); code == http.StatusProcessing && at != "" {
					o.started(messages.JobID(path.Base(at)))
				}
				return nil
			},
		})
	}
	if r.UID == "" && r.Key == "" {
		r.UID = messages.UID(ulid.Make().String())
	}
	query := url.Values{}
	if o.text > 0 {
		query.Set("text", strconv.Itoa(o.text))
	}
	body, err := messages.MarshalRequest(r)
	if err != nil {
		return api.Result{}, err
	}
	return returning(ctx, c, func() (result api.Result, err error) {
		request, err := c.request(ctx, http.MethodPost, "/v1/jobs", query, body)
		if err != nil {
			return result, err
		}
		if r.Key != "" {
			request.Header.Set(api.KeyHeader, r.Key)
		}
		if o.started != nil {
			request.Header.Set("Prefer", api.Processing)
		}
		err = c.fetch(request, &result)
		return result, err
	})
}
