package http

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"net/url"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// Bounds of a body: what is large is the text of a command, whose quotes and
// newlines JSON writes as two bytes each.
const (
	maxBody    = 1 << 20
	maxRun     = 2*messages.MaxText + maxBody
	maxDrained = 4 * messages.MaxText // of a body that is too large
	lastWords  = time.Second          // for what is on its way when the server closes
	drainFor   = 2 * time.Second
	maxLarge   = 4 // bodies above maxBody that are in memory at a time
)

// request is one request on its way through its handler.
type request struct {
	*Server
	w   http.ResponseWriter
	r   *http.Request
	ctx context.Context //nolint:containedctx // of the request, as r has it
}

// id is the job that the path names.
func (c *request) id() messages.JobID { return messages.JobID(c.r.PathValue("id")) }

// door is the connection of the request.
func (c *request) door() *clientConn { return c.ctx.Value(connKey{}).(*clientConn) }

func (c *request) principal() messages.Principal { return c.door().principal() }

const jsonType = "application/json"

// checkType refuses a body that a form of a web page could have sent.
func (c *request) checkType() *messages.Error {
	given := c.r.Header.Get("Content-Type")
	if given == jsonType {
		return nil
	}
	kind, _, err := mime.ParseMediaType(given)
	if err != nil || kind != jsonType {
		return messages.Invalid("content_type", "the body must be JSON, and say so: Content-Type: application/json")
	}
	return nil
}

// discardBody takes a body that the request has and its route does not: what is left of it
// would hold up the reply, and the deadline of it end one that lasts.
func (c *request) discardBody() error {
	if c.r.ContentLength == 0 {
		return nil
	}
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Now().Add(patience))
	_, err := io.Copy(io.Discard, http.MaxBytesReader(c.w, c.r.Body, maxBody))
	return c.bodyError(err)
}

// bodyError says what became of reading a body. One that did not come in its time is refused
// here: to the server its sender has gone, and it would wait for the rest before it replies.
func (c *request) bodyError(err error) error {
	var large *http.MaxBytesError
	switch {
	case err == nil:
		_ = http.NewResponseController(c.w).SetReadDeadline(time.Time{})
		return nil
	case errors.As(err, &large):
		return c.tooLarge(large.Limit)
	case errors.Is(err, os.ErrDeadlineExceeded):
		c.w.Header().Set("Connection", "close")
		fail(c.w, messages.Invalid("body", "the body did not come in its time"))
		return errAnswered
	}
	return messages.Invalid("body", "the body ends early: "+err.Error())
}

// body reads a request of at most a number of bytes.
func (c *request) body(into any, most int64) error {
	rc := http.NewResponseController(c.w)
	_ = rc.SetReadDeadline(time.Now().Add(patience))
	if c.r.ContentLength > most {
		return c.tooLarge(most)
	}
	from := http.MaxBytesReader(c.w, c.r.Body, most)
	b, err := io.ReadAll(io.LimitReader(from, maxBody+1))
	if err == nil && len(b) > maxBody {
		select { // a place among those that hold much memory
		case c.large <- struct{}{}:
			defer func() { <-c.large }()
		case <-c.ctx.Done():
			return c.ctx.Err()
		}
		_ = rc.SetReadDeadline(time.Now().Add(patience))
		var rest []byte
		rest, err = io.ReadAll(from)
		b = append(b, rest...)
	}
	if err := c.bodyError(err); err != nil {
		return err
	}
	if err := wire.Decode(b, into); err != nil {
		return err
	}
	return nil
}

// errAnswered says that a handler has sent its reply itself.
var errAnswered = errors.New("the reply was sent")

// tooLarge refuses a body, and lets its sender finish, within bounds: who is cut
// off while he writes may never read why.
func (c *request) tooLarge(most int64) error {
	c.w.Header().Set("Connection", "close")
	fail(c.w, &messages.Error{Code: messages.TooLarge, Reason: "body", Message: fmt.Sprintf("the body has more than %d bytes", most), Hint: "send less at a time"})
	rc := http.NewResponseController(c.w)
	_ = rc.Flush()
	_ = rc.SetReadDeadline(time.Now().Add(drainFor))
	_, _ = io.CopyN(io.Discard, c.r.Body, maxDrained)
	return errAnswered
}

// checkQuery refuses parameters that the route does not have.
func (c *request) checkQuery(known []string) *messages.Error {
	query, err := url.ParseQuery(c.r.URL.RawQuery)
	if err != nil {
		return messages.Invalid("query", "the query cannot be read: "+err.Error())
	}
	for name, values := range query {
		switch {
		case !slices.Contains(known, name):
			return messages.Invalid(name, fmt.Sprintf("%.64q is no parameter of this request", name))
		case len(values) != 1:
			return messages.Invalid(name, name+" is there twice")
		}
	}
	return nil
}

// text is a parameter, "" if it is not there.
func (c *request) text(name string) string { return c.r.URL.Query().Get(name) }

// flag is a parameter that is true or false.
func (c *request) flag(name string) (bool, error) {
	switch c.text(name) {
	case "":
		if !c.r.URL.Query().Has(name) {
			return false, nil
		}
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, messages.Invalid(name, name+" must be true or false")
}

// number is a parameter that is at least least, or absent.
func (c *request) number(name string, absent, least, most int64) (int64, error) {
	text := c.text(name)
	if text == "" && !c.r.URL.Query().Has(name) {
		return absent, nil
	}
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil || n < least || n > most {
		return 0, messages.Invalid(name, fmt.Sprintf("%s must be a whole number from %d to %d", name, least, most))
	}
	return n, nil
}

// grace is the parameter grace_ms: absent is the job's own, 0 none.
func (c *request) grace() (time.Duration, error) {
	if !c.r.URL.Query().Has("grace_ms") {
		return 0, nil
	}
	ms, err := c.number("grace_ms", 0, 0, int64(messages.MaxDuration/time.Millisecond))
	if err != nil {
		return 0, err
	}
	return graceOf(&ms)
}

func graceOf(ms *int64) (time.Duration, error) {
	d, err := wire.GraceOf(ms)
	if err != nil {
		return 0, err
	}
	return d, nil
}

// reply sends one object.
func (c *request) reply(status int, v any) error {
	c.send(c.w, status, v)
	return nil
}

// send writes one object.
func (s *Server) send(w http.ResponseWriter, status int, v any) {
	if err := send(w, status, v); err != nil {
		s.log.Error("a reply cannot be encoded", "error", err)
		panic(http.ErrAbortHandler)
	}
}

func send(w http.ResponseWriter, status int, v any) error {
	b, err := compact(v)
	if err != nil {
		return err
	}
	b = append(b, '\n')
	w.Header().Set("Content-Type", jsonType)
	w.Header().Set("Content-Length", strconv.Itoa(len(b)))
	replyInTime(w)
	w.WriteHeader(status)
	_, _ = w.Write(b) // the client may have gone
	return nil
}

// replyInTime has what is written next fail if its reader does not read. It is called
// before each writing: the deadline that it sets may be over by the next.
func replyInTime(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience))
}

// stream is the context of a reply that would not end by itself: it ends with
// the request and with the server, also when its reader has stopped to read.
func (c *request) stream() (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancel(c.ctx)
	rc := http.NewResponseController(c.w)
	_ = rc.SetWriteDeadline(time.Time{})
	stop := context.AfterFunc(c.closing, func() {
		cancel()
		_ = rc.SetWriteDeadline(time.Now().Add(lastWords))
	})
	return ctx, func() { stop(); cancel() }
}

// compact is one object on one line; & and < stay as they are, as on the command
// line.
func compact(v any) ([]byte, error) {
	if r, ok := v.(wire.Result); ok { // what it writes needs no second look
		return r.MarshalJSON()
	}
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte("\n")), err
}

// fail sends an error.
func fail(w http.ResponseWriter, e *messages.Error) {
	status := statusOf(e)
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	if err := send(w, status, wire.ErrorBody{V: wire.Version, Error: *e}); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// ask asks the node once for a reply of type T; another one is an error.
func ask[T any](c *request, request messages.Refusable) (T, error) {
	var none T
	reply, err := c.node.Ask(c.ctx, request)
	if err != nil {
		return none, err
	}
	if t, ok := reply.(T); ok {
		return t, nil
	}
	return none, unexpectedReply(reply)
}

// prefers reports whether the request has a preference (RFC 7240).
func (c *request) prefers(what string) bool {
	return lists(c.r.Header.Values("Prefer"), what)
}

// lists says whether one of the lists in some headers has a word, whatever its case.
func lists(headers []string, word string) bool {
	for _, line := range headers {
		for _, one := range strings.Split(line, ",") {
			if strings.EqualFold(strings.TrimSpace(one), word) {
				return true
			}
		}
	}
	return false
}
