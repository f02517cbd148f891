package http

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"mime"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"troupe/internal/api"
	"troupe/messages"
)

// Bounds of a body. The largest is the text of a command, in which JSON writes quotes
// and newlines as two bytes each.
const (
	maxBody    = 1 << 20
	maxRun     = 2*messages.MaxText + maxBody
	maxDrained = 4 * messages.MaxText // bytes of a body that is too large
	lastWords  = time.Second          // time for the last replies when the server closes
	drainFor   = 2 * time.Second
	maxLarge   = 4 // bodies above maxBody in memory at a time
)

// request is one HTTP request and its reply.
type request struct {
	*Server
	w   http.ResponseWriter
	r   *http.Request
	ctx context.Context //nolint:containedctx // r's context, or one that ends with the client

	route api.Route
	query api.Query

	root messages.ScopePath // the client may use this scope alone; "": all of them
}

// id returns the job that the path names.
func (c *request) id() messages.JobID { return c.job(messages.JobID(c.r.PathValue("id"))) }

// door returns the connection of the request.
func (c *request) door() *clientConn { return c.ctx.Value(connKey{}).(*clientConn) }

func (c *request) principal() messages.Principal { return c.door().principal() }

const jsonType = "application/json"

// checkType refuses a body that a form of a web page could send.
func (c *request) checkType() *messages.Error {
	given := c.r.Header.Get("Content-Type")
	if given == jsonType {
		return nil
	}
	kind, _, err := mime.ParseMediaType(given)
	if err != nil || kind != jsonType {
		return messages.Invalid("content_type", "the body must be JSON with Content-Type: application/json")
	}
	return nil
}

// discardBody reads a body that the route does not take. Unread bytes would delay the
// reply, and their deadline would end a long request.
func (c *request) discardBody() error {
	if c.r.ContentLength == 0 {
		return nil
	}
	_ = http.NewResponseController(c.w).SetReadDeadline(time.Now().Add(patience))
	_, err := io.Copy(io.Discard, http.MaxBytesReader(c.w, c.r.Body, maxBody))
	return c.bodyError(err)
}

// bodyError returns the error for a failed read of a body. It refuses a late body
// itself: the server would take the deadline for a disconnect and wait for the rest.
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
		fail(c.w, messages.Invalid("body", "the body did not arrive in time"))
		return errAnswered
	}
	return messages.Invalid("body", "the body ends early: "+err.Error())
}

// body reads a body of at most most bytes. Several large ones wait for each other.
func (c *request) body(most int64, read func([]byte) error) error {
	rc := http.NewResponseController(c.w)
	_ = rc.SetReadDeadline(time.Now().Add(patience))
	if c.r.ContentLength > most {
		return c.tooLarge(most)
	}
	from := http.MaxBytesReader(c.w, c.r.Body, most)
	b, err := io.ReadAll(io.LimitReader(from, maxBody+1))
	if err == nil && len(b) > maxBody {
		select { // a place for a large body
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
	return read(b)
}

// errAnswered means that a handler has sent its reply itself.
var errAnswered = errors.New("the reply was sent")

// tooLarge refuses a body and drains it within bounds: a client that is cut off while
// it writes may never read the reply.
func (c *request) tooLarge(most int64) error {
	c.w.Header().Set("Connection", "close")
	fail(c.w, &messages.Error{Code: messages.TooLarge, Reason: "body", Message: fmt.Sprintf("the body has more than %d bytes", most), Hint: "send less at a time"})
	rc := http.NewResponseController(c.w)
	_ = rc.Flush()
	_ = rc.SetReadDeadline(time.Now().Add(drainFor))
	_, _ = io.CopyN(io.Discard, c.r.Body, maxDrained)
	return errAnswered
}

// reply sends one object.
func (c *request) reply(status int, v any) error {
	c.send(c.w, status, v)
	return nil
}

// send writes one object.
func (s *Server) send(w http.ResponseWriter, status int, v any) {
	if err := send(w, status, v); err != nil {
		s.log.Error("cannot encode a reply", "error", err)
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
	_, _ = w.Write(b) // the client may have disconnected
	return nil
}

// replyInTime bounds the next write: it fails if the client does not read. Call it
// before each write, since the deadline may have passed by the next.
func replyInTime(w http.ResponseWriter) {
	_ = http.NewResponseController(w).SetWriteDeadline(time.Now().Add(patience))
}

// stream returns the context of an endless reply. It ends with the request and with the
// server, also if the client has stopped reading.
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

// compact encodes one object on one line.
func compact(v any) ([]byte, error) {
	if r, ok := v.(json.Marshaler); ok { // its output is already compact
		return r.MarshalJSON()
	}
	return messages.MarshalReply(v)
}

// fail sends an error.
func fail(w http.ResponseWriter, e *messages.Error) {
	status := api.Status(e)
	if status == http.StatusServiceUnavailable || status == http.StatusTooManyRequests {
		w.Header().Set("Retry-After", "1")
	}
	if err := send(w, status, api.ErrorBody{Error: *e}); err != nil {
		panic(http.ErrAbortHandler)
	}
}

// ask sends a request to the node and returns its reply. Another reply is an error.
func ask[R any](c *request, request messages.For[R]) (R, error) {
	var none R
	reply, err := c.node.Ask(c.ctx, request)
	if err != nil {
		return none, err
	}
	if granted, ok := reply.(R); ok {
		return granted, nil
	}
	return none, unexpectedReply(reply)
}

// prefers reports whether the request has a preference (RFC 7240).
func (c *request) prefers(what string) bool {
	return lists(c.r.Header.Values("Prefer"), what)
}

// lists reports whether a comma-separated header contains a word, in any case.
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
