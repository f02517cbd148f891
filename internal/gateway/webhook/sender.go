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

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// DefaultTimeout is how long one try may take: a receiver that has more to do
// answers first, and does it then.
const DefaultTimeout = 15 * time.Second

const (
	// maxAnswer is how much of an answer is read, so that its connection can be used
	// again; nobody looks at it.
	maxAnswer = 16 << 10
	// maxHeader bounds the headers of an answer.
	maxHeader = 16 << 10
	// idleTime is how long a connection is kept for the next notice.
	idleTime = 30 * time.Second
)

// Options say how a Sender is made.
type Options struct {
	Secret  []byte        // signs what is sent; see Secret
	Timeout time.Duration // of one try; 0: DefaultTimeout
	Agent   string        // the User-Agent; "": troupe
}

// Sender posts notices. It implements actors.Webhooks, and holds no more than the
// tries that are under way, of which the tree makes one at a time for each URL.
type Sender struct {
	options Options
	client  *http.Client
}

// New makes a Sender. A proxy is taken from the environment, as everybody does.
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
func (s *Sender) Deliver(d messages.Delivery, told func(messages.Delivered)) (cancel func()) {
	ctx, cancel := context.WithTimeout(context.Background(), s.options.Timeout)
	go func() {
		defer cancel()
		told(s.try(ctx, d, time.Now()))
	}()
	return cancel
}

// Close lets go of connections that nobody uses.
func (s *Sender) Close() { s.client.CloseIdleConnections() }

func (s *Sender) try(ctx context.Context, d messages.Delivery, now time.Time) messages.Delivered {
	request, err := s.request(ctx, d, now)
	if err != nil {
		return messages.Delivered{Gone: true, Err: messages.Error{
			Code: messages.InvalidParams, Reason: "url", Message: "nothing can be sent to the URL: " + cause(err), Hint: "give another URL",
		}}
	}
	answer, err := s.client.Do(request)
	if err != nil {
		return messages.Delivered{Err: messages.Error{
			Code: messages.Refused, Reason: reason(err), Message: "the URL cannot be reached: " + cause(err), Hint: "see that something listens there",
		}}
	}
	defer answer.Body.Close()
	defer context.AfterFunc(ctx, func() { _ = answer.Body.Close() })() // behind a 101 it is the connection, which ctx does not end
	_, _ = io.Copy(io.Discard, io.LimitReader(answer.Body, maxAnswer)) // it was said with the status
	return judge(answer, now)
}

func (s *Sender) request(ctx context.Context, d messages.Delivery, now time.Time) (*http.Request, error) {
	event, err := wire.NewEvent(d.Seq, messages.CommandFinished{Job: d.Job})
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

// judge says what an answer means for the notice.
func judge(answer *http.Response, now time.Time) messages.Delivered {
	code := answer.StatusCode
	if code >= 200 && code < 300 {
		return messages.Delivered{}
	}
	out := messages.Delivered{After: retryAfter(answer.Header.Get("Retry-After"), now), Err: messages.Error{
		Code: messages.Refused, Reason: fmt.Sprintf("http_%d", code),
		Message: strings.TrimSpace(fmt.Sprintf("the URL answered %d %s", code, http.StatusText(code))), Hint: "see what it has against the request",
	}}
	switch {
	case code == http.StatusGone:
		out.Gone, out.Err.Hint = true, "it wants to hear nothing more; name another one"
	case code >= 300 && code < 400:
		out.Err.Hint = "redirects are not followed; give the URL where it leads"
	}
	return out
}

// retryAfter is how long a receiver wants to be left alone: seconds, or a date.
func retryAfter(value string, now time.Time) time.Duration {
	if seconds, err := strconv.ParseInt(value, 10, 64); err == nil || errors.Is(err, strconv.ErrRange) { // which gives the largest
		return time.Duration(min(max(seconds, 0), int64(messages.MaxDuration/time.Second))) * time.Second
	}
	if at, err := http.ParseTime(value); err == nil {
		return max(at.Sub(now), 0)
	}
	return 0
}

// cause is an error without the URL, which stands beside it.
func cause(err error) string {
	var outer *url.Error
	if errors.As(err, &outer) {
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
