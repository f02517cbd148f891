package client

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"net/url"
	"path"
	"slices"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"

	"troupe/internal/gateway/http/wire"
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
func (c *Client) Run(ctx context.Context, r messages.RunCommand, with ...Option) (wire.Result, error) {
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
	return returning(ctx, c, func() (wire.Result, error) {
		request, err := c.request(ctx, http.MethodPost, "/v1/jobs", query, r)
		if err != nil {
			return wire.Result{}, err
		}
		if r.Key != "" {
			request.Header.Set(wire.KeyHeader, r.Key)
		}
		if o.started != nil {
			request.Header.Set("Prefer", wire.Processing)
		}
		return answer[wire.Result](c, request)
	})
}

// Job finds a job by its id, its ULID or its name.
func (c *Client) Job(ctx context.Context, id messages.JobID) (messages.Record, error) {
	return returning(ctx, c, func() (messages.Record, error) {
		job, err := ask[messages.Record](ctx, c, http.MethodGet, of(id), nil, nil)
		return job, err
	})
}

// Jobs lists the jobs at and below a scope, oldest first, and the tasks that a host has
// announced. An empty scope means all; at most one state may be given.
func (c *Client) Jobs(ctx context.Context, r messages.ListJobs) (messages.JobList, error) {
	query := url.Values{}
	if r.Scope != "" {
		query.Set("scope", string(r.Scope))
	}
	if r.Finished {
		query.Set("finished", "true")
	}
	if len(r.States) > 1 {
		return messages.JobList{}, messages.Invalid("state", "the daemon lists one state at a time")
	}
	if len(r.States) == 1 {
		query.Set("state", string(r.States[0]))
	}
	list, err := ask[wire.JobList](ctx, c, http.MethodGet, "/v1/jobs", query, nil)
	return messages.JobList{Jobs: list.Jobs, Tasks: list.Tasks}, err
}

// Remove removes a finished job and its output, and returns its record.
func (c *Client) Remove(ctx context.Context, id messages.JobID) (messages.Record, error) {
	job, err := ask[messages.Record](ctx, c, http.MethodDelete, of(id), nil, nil)
	return job, err
}

// RemoveAll removes finished jobs and their output. It returns the records of removed jobs,
// and the refusal of each other one. An error ends it early.
func (c *Client) RemoveAll(ctx context.Context, ids []messages.JobID) (removed []messages.Record, refused []error, err error) {
	for some := range slices.Chunk(ids, wire.MaxRemoved) {
		out, err := ask[wire.Removed](ctx, c, http.MethodPost, "/v1/remove", nil, wire.NewRemove(some))
		if errors.Is(err, noRoute) {
			out, err = c.removeEach(ctx, some)
		}
		removed = append(removed, out.Jobs...)
		for i := range out.Refused {
			refused = append(refused, &out.Refused[i].Error)
		}
		if err != nil {
			return removed, refused, err
		}
	}
	return removed, refused, nil
}

// noRoute is the error of a daemon that does not know a route, such as an older one.
var noRoute = &messages.Error{Code: messages.NotFound, Reason: "route"}

// removeEach removes the jobs one by one, for a daemon without the route of RemoveAll.
func (c *Client) removeEach(ctx context.Context, ids []messages.JobID) (out wire.Removed, err error) {
	for _, id := range ids {
		job, err := c.Remove(ctx, id)
		var refused *messages.Error
		switch {
		case err == nil:
			out.Jobs = append(out.Jobs, job)
		case errors.As(err, &refused):
			out.Refused = append(out.Refused, wire.Refused{Job: string(id), Error: *refused})
		default:
			return out, err
		}
	}
	return out, nil
}

// Stop stops a job, or all jobs of a scope or session. It returns when their process trees
// have ended except the survivors.
func (c *Client) Stop(ctx context.Context, r messages.StopCommand) (messages.CommandStopped, error) {
	body := wire.Stop{Scope: string(r.Scope), Session: string(r.Session), Grace: wire.GraceMS(r.Grace), Reason: r.Reason}
	path := "/v1/stop"
	if r.Job != "" {
		path, body.Scope, body.Session = of(r.Job, "stop"), "", ""
	}
	out, err := returning(ctx, c, func() (wire.Stopped, error) {
		return ask[wire.Stopped](ctx, c, http.MethodPost, path, nil, body)
	})
	return messages.CommandStopped{Jobs: out.Jobs, Survivors: out.Survivors, Already: out.Already}, err
}

// Signal sends a signal to a job's main process, or to its whole tree.
func (c *Client) Signal(ctx context.Context, r messages.SignalCommand) error {
	return c.done(ctx, of(r.Job, "signal"), wire.Signal{Signal: r.Signal, Tree: r.Tree})
}

// Promote moves a foreground job to the background. With r.Keep it stays when the client of
// its scope leaves.
func (c *Client) Promote(ctx context.Context, r messages.PromoteCommand) (messages.Record, error) {
	return returning(ctx, c, func() (messages.Record, error) {
		job, err := ask[messages.Record](ctx, c, http.MethodPost, of(r.Job, "promote"), nil, wire.Promote{Keep: &r.Keep})
		return job, err
	})
}

// Deadline changes a job's deadline.
func (c *Client) Deadline(ctx context.Context, r messages.ChangeDeadline) error {
	return c.done(ctx, of(r.Job, "deadline"), wire.NewDeadline(r))
}

// Input writes to a job's standard input. It returns the number of bytes that the kernel has
// taken since the job's start.
func (c *Client) Input(ctx context.Context, r messages.WriteInput) (int64, error) {
	body := wire.NewInput(r)
	if err := body.Encodable(); err != nil {
		return 0, err
	}
	out, err := ask[wire.Written](ctx, c, http.MethodPost, of(r.Job, "input"), nil, body)
	return out.Through, err
}

// Through returns the number of bytes that the kernel has taken since the job's start, after all
// input before it: a client that lost its daemon during Input goes on there.
func (c *Client) Through(ctx context.Context, id messages.JobID) (int64, error) {
	return returning(ctx, c, func() (int64, error) { return c.Input(ctx, messages.WriteInput{Job: id}) })
}

// CloseInput ends a job's standard input.
func (c *Client) CloseInput(ctx context.Context, id messages.JobID) error {
	_, err := returning(ctx, c, func() (struct{}, error) { return struct{}{}, c.done(ctx, of(id, "close-input"), wire.Empty{}) })
	return err
}

// Hold pauses the output of a job, which then blocks on its full pipe, until release is
// called or the connection ends.
func (c *Client) Hold(ctx context.Context, id messages.JobID) (release func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	r, err := c.request(ctx, http.MethodPost, of(id, "hold"), nil, wire.Empty{})
	if err != nil {
		cancel()
		return nil, err
	}
	reply, err := c.do(r)
	if err != nil {
		cancel()
		return nil, err
	}
	return func() { cancel(); _ = reply.Body.Close() }, nil
}

// Resize gives a job's terminal another size.
func (c *Client) Resize(ctx context.Context, r messages.ResizeTerminal) error {
	return c.done(ctx, of(r.Job, "resize"), r.Size)
}

// HandOver moves a live job to another scope.
func (c *Client) HandOver(ctx context.Context, r messages.HandOver) error {
	return c.done(ctx, of(r.Job, "handover"), wire.HandOver{To: string(r.To)})
}

func (c *Client) done(ctx context.Context, path string, body any) error {
	_, err := ask[wire.Acknowledged](ctx, c, http.MethodPost, path, nil, body)
	return err
}

// graceQuery adds a grace to a query.
func graceQuery(query url.Values, d time.Duration) {
	if ms := wire.GraceMS(d); ms != nil {
		query.Set("grace_ms", strconv.FormatInt(*ms, 10))
	}
}
