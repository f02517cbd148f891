package webhook

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"troupe/internal/api"
	"troupe/messages"
)

// DefaultTimeout bounds one try. A receiver with more to do replies first.
const DefaultTimeout = 15 * time.Second

const (
	// maxAnswer bounds the part of a reply that is read so that its connection can be
	// used again. It is discarded.
	maxAnswer = 16 << 10
	// maxHeader bounds the headers of a reply.
	maxHeader = 16 << 10
	// idleTime is how long an idle connection is kept.
	idleTime = 30 * time.Second
)

// Options configure a Sender.
type Options struct {
	Secret  []byte        // signs the notices; see Secret
	Timeout time.Duration // of one try; 0: DefaultTimeout
	Agent   string        // User-Agent; "": troupe
}

// Sender posts notices. It implements actors.Webhooks and keeps only the tries in
// progress. The actors make one at a time for each URL.
type Sender struct {
	options Options
	client  *http.Client
}

// New returns a Sender. It uses the proxy of the environment.
func New(o Options) *Sender {
	if o.Timeout <= 0 {
		o.Timeout = DefaultTimeout
	}
	if o.Agent == "" {
		o.Agent = "troupe"
	}
	return &Sender{options: o, client: &http.Client{
		Transport: &http.Transport{
			Proxy: http.ProxyFromEnvironment, ForceAttemptHTTP2: true, DisableCompression: true,
			MaxIdleConns: 64, IdleConnTimeout: idleTime, MaxResponseHeaderBytes: maxHeader,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}}
}

// Deliver implements actors.Webhooks.
func (s *Sender) Deliver(d messages.Delivery, done func(messages.Delivered)) (cancel func()) {
	ctx, cancel := context.WithTimeout(context.Background(), s.options.Timeout)
	go func() {
		defer cancel()
		done(s.try(ctx, d, time.Now()))
	}()
	return cancel
}

func (s *Sender) try(ctx context.Context, d messages.Delivery, now time.Time) messages.Delivered {
	request, err := s.request(ctx, d, now)
	if err != nil {
		return messages.Delivered{Gone: true, Err: messages.Error{
			Code: messages.InvalidParams, Reason: "url", Message: "cannot send to the URL: " + cause(err), Hint: "give another URL",
		}}
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return messages.Delivered{Err: messages.Error{
			Code: messages.Refused, Reason: reason(err), Message: "cannot reach the URL: " + cause(err), Hint: "check that a server listens there",
		}}
	}
	defer answer.Body.Close()
	defer context.AfterFunc(ctx, func() { _ = answer.Body.Close() })() // after a 101 the body is the connection, which ctx does not end
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer)) // only the status matters
	return judge(answer, now)
}

func (s *Sender) request(ctx context.Context, d messages.Delivery, now time.Time) (*http.Request, error) {
	event, err := api.NewEvent(d.Seq, messages.CommandFinished{Job: d.Job})
	if err != nil {
		return nil, err
	}
	body, err := json.Marshal(event)
	if err != nil {
		return nil, err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, d.To, bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	stamp := strconv.FormatInt(now.Unix(), 10)
	r.Header.Set("Content-Type", "application/json")
	r.Header.Set("User-Agent", s.options.Agent)
	r.Header.Set(IDHeader, d.ID())
	r.Header.Set(TimestampHeader, stamp)
	r.Header.Set(SignatureHeader, Sign(s.options.Secret, d.ID(), stamp, body))
	return r, nil
}

// judge returns what a reply means for the notice.
func judge(answer *http.Response, now time.Time) messages.Delivered {
	code := answer.StatusCode
	if code >= 200 && code < 300 {
		return messages.Delivered{}
	}
	out := messages.Delivered{After: retryAfter(answer.Header.Get("Retry-After"), now), Err: messages.Error{
		Code: messages.Refused, Reason: fmt.Sprintf("http_%d", code),
		Message: strings.TrimSpace(fmt.Sprintf("the URL answered %d %s", code, http.StatusText(code))), Hint: "check why the server rejects the request",
	}}
	switch {
	case code == http.StatusGone:
		out.Gone, out.Err.Hint = true, "the receiver wants no more notices; use another URL"
	case code >= 300 && code < 400:
		out.Err.Hint = "redirects are not followed; use the URL of the target"
	}
	return out
}

// retryAfter returns the delay that a receiver asks for, in seconds or as a date.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) { // ErrRange: the largest number
		return time.Duration(min(max(seconds, 0), int64(messages.MaxDuration/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// cause returns an error without the URL, which its message repeats.
func cause(err error) string {
	if outer, ok := errors.AsType[*url.Error](err); ok {
		err = outer.Err
	}
	return err.Error()
}

func reason(err error) string {
	var network net.Error
	if errors.As(err, &network) && network.Timeout() {
		return "timeout"
	}
	return "unreachable"
}
