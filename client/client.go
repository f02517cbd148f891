package client

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"net"
	"net/http"
	"net/url"
	"os"
	"strconv"
	"strings"
	"syscall"
	"time"

	"troupe/internal/api"
	"troupe/internal/gateway/http/peer"
	"troupe/messages"
)

// ErrNoDaemon is the error of Dial if no process listens at the socket.
var ErrNoDaemon = errors.New("no daemon")

// Client sends requests to the daemon at one address, and to the daemon after it: runs, waits,
// outputs, attachments, events, and requests of Host that can be repeated come back by themselves.
// It is safe for concurrent use.
type Client struct {
	http  transport
	base  string
	token string

	daemon string // version of the daemon
	single bool   // see EndWithDaemon
}

// Dial connects to the daemon at a socket and asks for its version. A socket that another
// user has made, or that this user cannot reach, is refused. Without a listener the error is
// ErrNoDaemon.
func Dial(ctx context.Context, socket string) (*Client, error) {
	if err := peer.CheckPath(socket); err != nil {
		return nil, err
	}
	c := &Client{base: "http://troupe"}
	c.http.dial = func(ctx context.Context) (net.Conn, error) { return connect(ctx, socket) }
	return c.greet(ctx)
}

// greet asks the daemon for its version.
func (c *Client) greet(ctx context.Context) (*Client, error) {
	about, err := c.Version(ctx)
	if err != nil {
		return nil, err
	}
	c.daemon = about.Version
	return c, nil
}

// DialTCP connects to a daemon that listens on a loopback address.
func DialTCP(ctx context.Context, address, token string) (*Client, error) {
	c := &Client{base: "http://" + address, token: token}
	c.http.dial = func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "tcp", address)
	}
	return c.greet(ctx)
}

// connect opens a connection to a socket of this user.
func connect(ctx context.Context, socket string) (net.Conn, error) {
	var d net.Dialer
	conn, err := d.DialContext(ctx, "unix", socket)
	var why syscall.Errno
	switch {
	case errors.Is(err, syscall.ECONNREFUSED), errors.Is(err, fs.ErrNotExist):
		return nil, fmt.Errorf("%w listens at %s", ErrNoDaemon, socket)
	case errors.As(err, &why) && (errors.Is(why, fs.ErrPermission) || why == syscall.ENOTDIR):
		return nil, &messages.Error{
			Code: messages.Refused, Reason: "socket", Message: fmt.Sprintf("the socket %s cannot be reached: %v", socket, why),
			Hint: "set TROUPE_SOCKET, or XDG_RUNTIME_DIR, to a place of your own: another user's stays set after su",
		}
	case errors.Is(err, syscall.EAGAIN) && !isOurs(socket):
		return nil, &messages.Error{
			Code: messages.Refused, Reason: "peer", Message: "the socket " + socket + " belongs to another user", Hint: "each user has a daemon and a socket of their own",
		}
	case errors.Is(err, syscall.EAGAIN): // thousands wait for their connection
		return nil, &messages.Error{
			Code: messages.ResourceExhausted, Reason: "connections", Message: "too many clients wait for a connection to the daemon at " + socket, Hint: "try again soon, or set limits.connections higher",
		}
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE): // this process lacks descriptors
		return nil, &messages.Error{
			Code: messages.ResourceExhausted, Reason: "descriptors", Message: "no connection to the daemon can be opened: " + why.Error(),
			Hint: "raise the limit of open files (ulimit -n) of this process",
		}
	case err != nil:
		return nil, err
	}
	if _, err := peer.Check(conn.(*net.UnixConn)); err != nil {
		return nil, errors.Join(err, conn.Close())
	}
	return conn, nil
}

// isOurs reports whether a file belongs to our user: a full queue of another user's socket
// never empties.
func isOurs(path string) bool {
	info, err := os.Stat(path)
	return err == nil && peer.OwnerOf(info) == os.Geteuid()
}

// Close closes idle connections.
func (c *Client) Close() error {
	c.http.close()
	return nil
}

// request makes a request. body nil sends none.
func (c *Client) request(ctx context.Context, method, path string, query url.Values, body []byte) (*http.Request, error) {
	var from io.Reader
	if body != nil {
		from = bytes.NewReader(body)
	}
	where := c.base + path
	if len(query) > 0 {
		where += "?" + query.Encode()
	}
	r, err := http.NewRequestWithContext(ctx, method, where, from)
	if err != nil {
		return nil, err
	}
	if body != nil {
		r.Header.Set("Content-Type", "application/json")
	}
	if c.token != "" {
		r.Header.Set("Authorization", "Bearer "+c.token)
	}
	return r, nil
}

// routed makes the request of a route.
func (c *Client) routed(ctx context.Context, route api.Route, request any) (*http.Request, error) {
	path, query, body, err := route.Encode(request)
	if err != nil {
		return nil, err
	}
	return c.request(ctx, route.Method, path, query, body)
}

// do sends a request and returns its reply if that is not an error. The daemon refuses a
// client that asks too often before it does anything; do waits as the reply says and tries again.
func (c *Client) do(r *http.Request) (*http.Response, error) {
	for {
		reply, err := c.http.roundTrip(r)
		if err != nil {
			if ctx := r.Context(); ctx.Err() != nil {
				return nil, ctx.Err()
			}
			return nil, err
		}
		if reply.StatusCode < http.StatusBadRequest {
			return reply, nil
		}
		err = c.explained(refusal(reply))
		_ = reply.Body.Close()
		again := retryAfter(reply)
		if !errors.Is(err, tooOften) || again == 0 {
			return nil, err
		}
		select {
		case <-time.After(again):
		case <-r.Context().Done():
			return nil, r.Context().Err()
		}
		if r.GetBody == nil {
			continue
		}
		if r.Body, err = r.GetBody(); err != nil {
			return nil, err
		}
	}
}

// explained adds to a refusal of an unknown route or field that the daemon is of an older
// build. A daemon of the client's build knows all of them.
func (c *Client) explained(err error) error {
	var e *messages.Error
	if !errors.As(err, &e) {
		return err
	}
	unknown := e.Code == messages.InvalidParams && (strings.HasSuffix(e.Message, " is no field of this request") || strings.HasSuffix(e.Message, " is no parameter of this request"))
	if unknown {
		e.Code = messages.Unsupported // the user did not type that field
	}
	if unknown || errors.Is(e, noRoute) {
		e.Message = fmt.Sprintf("the daemon, troupe %s, is of an older build and does not know this: %s", c.daemon, e.Message)
		e.Hint = "restart it: troupe shutdown ends it, its jobs go on, and the next one is of this build"
	}
	return err
}

var tooOften = &messages.Error{Code: messages.ResourceExhausted, Reason: "rate"}

// maxRetryAfter bounds the wait that a reply may ask for; the rate limit is full again then.
const maxRetryAfter = 5 * time.Second

// retryAfter returns the wait before the next try; 0: the reply does not name one.
func retryAfter(reply *http.Response) time.Duration {
	seconds, err := strconv.Atoi(reply.Header.Get("Retry-After"))
	if err != nil || seconds <= 0 {
		return 0
	}
	return min(time.Duration(seconds)*time.Second, maxRetryAfter)
}

// maxError bounds the body of an error, in bytes.
const maxError = 64 << 10

// refusal returns the error in a reply.
func refusal(reply *http.Response) error {
	b, err := io.ReadAll(io.LimitReader(reply.Body, maxError))
	if err == nil {
		if refused := api.Refusal(b); refused != nil {
			return refused
		}
	}
	return fmt.Errorf("the reply %s did not come from a troupe daemon", reply.Status)
}

// fetch sends a request and decodes its reply into a pointer.
func (c *Client) fetch(r *http.Request, into any) error {
	reply, err := c.do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	b, err := io.ReadAll(reply.Body)
	if decodes, is := into.(json.Unmarshaler); err == nil && is {
		err = decodes.UnmarshalJSON(b)
	} else if err == nil {
		err = messages.UnmarshalReply(b, into)
	}
	if err != nil {
		return fmt.Errorf("cannot decode the daemon's reply: %w", err)
	}
	return nil
}

// get returns the reply of a request that only its path describes.
func get[T any](ctx context.Context, c *Client, path string) (out T, err error) {
	r, err := c.request(ctx, http.MethodGet, path, nil, nil)
	if err == nil {
		err = c.fetch(r, &out)
	}
	return out, err
}
