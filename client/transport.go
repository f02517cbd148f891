package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"sync"
	"syscall"
	"time"
)

// Bounds of connections.
const (
	idleConnections = 8                // idle connections kept
	idleFor         = 10 * time.Second // below the idle timeout of the daemon
	maxHeader       = 1 << 20          // bytes of a reply's header
	maxInterim      = 8                // informational replies before the final one
)

// transport sends requests over kept connections, in the goroutine of the caller. The two
// goroutines that net/http has for each connection cost a short command 100 µs and more
// (decision 019). There is no proxy, no redirect and no second try. A connection that the
// daemon has closed is found before a request is sent on it.
type transport struct {
	dial func(context.Context) (net.Conn, error)

	mu    sync.Mutex
	idle  []*connection // the one used last at the end
	sweep *time.Timer   // closes connections idle for too long; nil: none is idle
}

// connection is a connection that serves one request at a time.
type connection struct {
	net.Conn
	r     *bufio.Reader
	w     *bufio.Writer
	left  int64 // bytes that may still be read
	since time.Time
}

// Read implements io.Reader.
func (l *connection) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errors.New("the header of the reply is too long")
	}
	n, err := l.Conn.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// roundTrip sends a request and returns the reply after its header. Close the body of the
// reply. The end of the request's context ends both.
func (t *transport) roundTrip(r *http.Request) (*http.Response, error) {
	ctx := r.Context()
	l, err := t.take(ctx)
	if err != nil {
		return nil, err
	}
	use := &use{ctx: ctx, of: t, line: l, stop: context.AfterFunc(ctx, func() { _ = l.Close() })}
	reply, err := l.exchange(r, &use.keep)
	if err != nil {
		return nil, use.broke(err)
	}
	if reply.Body == http.NoBody {
		use.end(use.keep)
		return reply, nil
	}
	use.ReadCloser, reply.Body = reply.Body, use
	return reply, nil
}

// exchange sends a request and reads the header of its reply. It sets keep if another request
// may follow. The daemon may refuse a body before it has read all of it.
func (l *connection) exchange(r *http.Request, keep *bool) (*http.Response, error) {
	sent := r.Write(l.w)
	if sent == nil {
		sent = l.w.Flush()
	}
	l.left = maxHeader
	for range maxInterim {
		reply, err := http.ReadResponse(l.r, r)
		if err != nil && sent != nil {
			return nil, sent
		}
		if err != nil {
			return nil, err
		}
		if reply.StatusCode >= http.StatusOK {
			l.left = math.MaxInt64
			*keep = sent == nil && !reply.Close
			return reply, nil
		}
		if trace := httptrace.ContextClientTrace(r.Context()); trace != nil && trace.Got1xxResponse != nil {
			if err := trace.Got1xxResponse(reply.StatusCode, textproto.MIMEHeader(reply.Header)); err != nil {
				return nil, err
			}
		}
	}
	return nil, fmt.Errorf("the daemon sent more than %d informational replies", maxInterim)
}

// use is the use of a connection by one request, and the body of its reply.
type use struct {
	io.ReadCloser

	ctx  context.Context //nolint:containedctx // of the request; its end is the error
	of   *transport
	line *connection
	stop func() bool // reports whether the context has not ended the connection
	keep bool        // keep the connection if the reply is read to its end
	once sync.Once
}

// Read implements io.Reader.
func (u *use) Read(p []byte) (int, error) {
	n, err := u.ReadCloser.Read(p)
	switch {
	case errors.Is(err, io.EOF):
		u.end(u.keep)
	case err != nil:
		err = u.broke(err)
	}
	return n, err
}

// Close implements io.Closer. It does not wait for unread bytes.
func (u *use) Close() error {
	u.end(false)
	return nil
}

// broke closes the connection. It returns the error of the context if that has ended, else err.
func (u *use) broke(err error) error {
	u.end(false)
	if u.ctx.Err() != nil {
		return u.ctx.Err()
	}
	return err
}

func (u *use) end(keep bool) {
	u.once.Do(func() {
		if u.stop() && keep {
			u.of.keepIdle(u.line)
			return
		}
		_ = u.line.Close()
	})
}

// take returns an idle connection, or a new one.
func (t *transport) take(ctx context.Context) (*connection, error) {
	for {
		l := t.last()
		if l == nil {
			break
		}
		if time.Since(l.since) < idleFor && l.quiet() {
			return l, nil
		}
		_ = l.Close()
	}
	conn, err := t.dial(ctx)
	if err != nil {
		return nil, err
	}
	l := &connection{Conn: conn, w: bufio.NewWriter(conn)}
	l.r = bufio.NewReader(l)
	return l, nil
}

// last takes the connection that was used last.
func (t *transport) last() *connection {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.idle) == 0 {
		return nil
	}
	l := t.idle[len(t.idle)-1]
	t.idle = t.idle[:len(t.idle)-1]
	return l
}

// quiet reports whether neither bytes nor the end followed the last reply.
func (l *connection) quiet() bool {
	conn, ok := l.Conn.(syscall.Conn)
	if !ok || l.r.Buffered() > 0 {
		return false
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return false
	}
	var seen error
	err = raw.Read(func(fd uintptr) bool {
		_, _, seen = syscall.Recvfrom(int(fd), make([]byte, 1), syscall.MSG_PEEK|syscall.MSG_DONTWAIT)
		return true
	})
	return err == nil && errors.Is(seen, syscall.EAGAIN)
}

// keepIdle keeps a connection for another request.
func (t *transport) keepIdle(l *connection) {
	l.since = time.Now()
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.idle) == idleConnections {
		_ = l.Close()
		return
	}
	t.idle = append(t.idle, l)
	if t.sweep == nil {
		t.sweep = time.AfterFunc(idleFor, t.clear)
	}
}

// clear closes connections that were idle for too long.
func (t *transport) clear() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for len(t.idle) > 0 && time.Since(t.idle[0].since) >= idleFor {
		_ = t.idle[0].Close()
		t.idle = t.idle[1:]
	}
	if len(t.idle) == 0 {
		t.sweep = nil
		return
	}
	t.sweep.Reset(idleFor - time.Since(t.idle[0].since))
}

// close closes all idle connections.
func (t *transport) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.idle {
		_ = l.Close()
	}
	t.idle = nil
}
