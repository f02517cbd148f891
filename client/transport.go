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
	idleConnections = 8                // wait for another request
	idleFor         = 10 * time.Second // before the daemon's end of patience
	maxHeader       = 1 << 20          // bytes of the header of a reply
	maxInterim      = 8                // replies before the one that counts
)

// transport sends requests over connections that it keeps. Whoever asks writes and
// reads himself: net/http has two goroutines for each connection, which cost a short
// command 100 µs and more (decision 019). There
// is no proxy, no redirect and no second try; a connection that the daemon has closed
// is noticed before anything is sent on it.
type transport struct {
	dial func(context.Context) (net.Conn, error)

	mu    sync.Mutex
	idle  []*line     // in the order in which they came to rest
	sweep *time.Timer // ends those that rest for too long; nil: there are none
}

// line is a connection, of one request at a time.
type line struct {
	net.Conn
	r     *bufio.Reader
	w     *bufio.Writer
	left  int64 // bytes that may be read
	since time.Time
}

// Read implements io.Reader.
func (l *line) Read(p []byte) (int, error) {
	if l.left <= 0 {
		return 0, errors.New("the header of the reply is too long")
	}
	n, err := l.Conn.Read(p[:min(int64(len(p)), l.left)])
	l.left -= int64(n)
	return n, err
}

// roundTrip sends a request and returns when the header of its reply is there. The
// body of the reply must be closed. The context ends both.
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

// exchange sends a request and reads the header of its reply. It says whether another
// request may follow. The daemon may refuse a body, and say so, before it has it all.
func (l *line) exchange(r *http.Request, keep *bool) (*http.Response, error) {
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
	return nil, fmt.Errorf("the daemon announces its reply more than %d times", maxInterim)
}

// use is one request's use of a connection, and the body of its reply.
type use struct {
	io.ReadCloser

	ctx  context.Context //nolint:containedctx // of the request, whose end is told as such
	of   *transport
	line *line
	stop func() bool // reports whether the context has not ended the connection
	keep bool        // for another request, if this one is read to its end
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

// Close implements io.Closer. What was not read is not waited for.
func (u *use) Close() error {
	u.end(false)
	return nil
}

// broke ends the connection, and says why it broke: the context, if it has ended.
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
			u.of.rest(u.line)
			return
		}
		_ = u.line.Close()
	})
}

// take finds a connection that rests, or makes one.
func (t *transport) take(ctx context.Context) (*line, error) {
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
	l := &line{Conn: conn, w: bufio.NewWriter(conn)}
	l.r = bufio.NewReader(l)
	return l, nil
}

// last takes the connection that came to rest last.
func (t *transport) last() *line {
	t.mu.Lock()
	defer t.mu.Unlock()
	if len(t.idle) == 0 {
		return nil
	}
	l := t.idle[len(t.idle)-1]
	t.idle = t.idle[:len(t.idle)-1]
	return l
}

// quiet reports whether nothing came behind the last reply, and no end either.
func (l *line) quiet() bool {
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

// rest keeps a connection for another request.
func (t *transport) rest(l *line) {
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

// clear closes the connections that have rested for too long.
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

// close ends all connections that rest.
func (t *transport) close() {
	t.mu.Lock()
	defer t.mu.Unlock()
	for _, l := range t.idle {
		_ = l.Close()
	}
	t.idle = nil
}
