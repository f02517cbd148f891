package client

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"net/http/httptrace"
	"net/textproto"
	"path/filepath"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// daemon answers connections, one after the other, each as one function does.
func daemon(t *testing.T, connections ...func(net.Conn)) *transport {
	t.Helper()
	at := filepath.Join(t.TempDir(), "s")
	l, err := net.Listen("unix", at)
	require.NoError(t, err)
	done := make(chan struct{})
	go func() {
		defer close(done)
		for _, serve := range connections {
			conn, err := l.Accept()
			if err != nil {
				return
			}
			serve(conn)
			_ = conn.Close()
		}
	}()
	tr := &transport{dial: func(ctx context.Context) (net.Conn, error) {
		var d net.Dialer
		return d.DialContext(ctx, "unix", at)
	}}
	t.Cleanup(func() {
		tr.close()
		_ = l.Close()
		<-done
	})
	return tr
}

// reads takes requests, and answers each with a text.
func reads(t *testing.T, replies ...string) func(net.Conn) {
	return func(conn net.Conn) {
		from := bufio.NewReader(conn)
		for _, reply := range replies {
			r, err := http.ReadRequest(from)
			if err != nil {
				t.Error(err)
				return
			}
			_, _ = io.Copy(io.Discard, r.Body)
			_, _ = io.WriteString(conn, reply)
		}
	}
}

const (
	short   = "HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok"
	empty   = "HTTP/1.1 204 No Content\r\n\r\n"
	endless = "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n2\r\nok\r\n"
	trailed = endless + "0\r\nAt-The-End: yes\r\n\r\n"
	early   = "HTTP/1.1 102 Processing\r\nLocation: /v1/jobs/x\r\n\r\n"
)

func post(ctx context.Context, t *testing.T, tr *transport, body string) (*http.Response, error) {
	t.Helper()
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, "http://troupe/v1/jobs", strings.NewReader(body))
	require.NoError(t, err)
	return tr.roundTrip(r)
}

// got is the body of a reply, read to its end.
func got(t *testing.T, reply *http.Response, err error) string {
	t.Helper()
	require.NoError(t, err)
	b, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close())
	return string(b)
}

// A connection is kept for the next request once a reply was read to its end, with or
// without a body; whoever has asked early is told meanwhile.
func TestAConnectionIsKept(t *testing.T) {
	tr := daemon(t, reads(t, short, empty, early+trailed, short))
	var told []string
	ctx := httptrace.WithClientTrace(t.Context(), &httptrace.ClientTrace{Got1xxResponse: func(code int, h textproto.MIMEHeader) error {
		told = append(told, h.Get("Location"))
		return nil
	}})
	for _, want := range []string{"ok", "", "ok", "ok"} {
		reply, err := post(ctx, t, tr, "text")
		require.Equal(t, want, got(t, reply, err))
		if len(reply.Trailer) > 0 {
			require.Equal(t, "yes", reply.Trailer.Get("At-The-End"))
		}
	}
	require.Equal(t, []string{"/v1/jobs/x"}, told)
}

// One that the daemon has closed, or whose reply was not read to its end, is not used
// again: no request is sent into nothing.
func TestAConnectionIsNotUsedAgain(t *testing.T) {
	closed := make(chan struct{})
	tr := daemon(t, func(conn net.Conn) {
		reads(t, short)(conn)
		_ = conn.Close()
		close(closed)
	}, func(conn net.Conn) {
		reads(t, endless)(conn)
		if _, err := conn.Read(make([]byte, 1)); err != io.EOF {
			t.Errorf("its client has not left: %v", err)
		}
	}, reads(t, "HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 2\r\n\r\nok"), reads(t, short))
	reply, err := post(t.Context(), t, tr, "")
	require.Equal(t, "ok", got(t, reply, err))
	<-closed
	reply, err = post(t.Context(), t, tr, "")
	require.NoError(t, err)
	require.NoError(t, reply.Body.Close())
	for range 2 {
		reply, err = post(t.Context(), t, tr, "")
		require.Equal(t, "ok", got(t, reply, err))
	}
}

// A context that ends closes the connection, whoever reads from it or nobody, and is
// why.
func TestAContextEndsARequest(t *testing.T) {
	left := make(chan struct{}, 2)
	leaves := func(reply string) func(net.Conn) {
		return func(conn net.Conn) {
			reads(t, reply)(conn)
			_, _ = conn.Read(make([]byte, 1))
			left <- struct{}{}
		}
	}
	tr := daemon(t, leaves(endless), leaves(endless), leaves(""))
	ctx, cancel := context.WithCancel(t.Context())
	reply, err := post(ctx, t, tr, "")
	require.NoError(t, err)
	cancel()
	<-left // nobody has read
	_, err = io.ReadAll(reply.Body)
	require.ErrorIs(t, err, context.Canceled)

	ctx, cancel = context.WithCancel(t.Context())
	reply, err = post(ctx, t, tr, "")
	require.NoError(t, err)
	_, err = io.ReadFull(reply.Body, make([]byte, 2))
	require.NoError(t, err)
	time.AfterFunc(time.Millisecond, cancel)
	_, err = reply.Body.Read(make([]byte, 1))
	require.ErrorIs(t, err, context.Canceled)
	<-left

	ctx, cancel = context.WithCancel(t.Context())
	time.AfterFunc(time.Millisecond, cancel)
	_, err = post(ctx, t, tr, "")
	require.ErrorIs(t, err, context.Canceled)
	<-left
}

// A daemon that refuses a body before it has all of it is heard.
func TestARefusalComesEarly(t *testing.T) {
	tr := daemon(t, func(conn net.Conn) {
		_, _ = conn.Read(make([]byte, 100))
		_, _ = io.WriteString(conn, "HTTP/1.1 413 Too Large\r\nConnection: close\r\nContent-Length: 2\r\n\r\nno")
	})
	reply, err := post(t.Context(), t, tr, strings.Repeat("x", 8<<20))
	require.Equal(t, "no", got(t, reply, err))
	require.Equal(t, http.StatusRequestEntityTooLarge, reply.StatusCode)
}

// What a daemon would not say is an error, and bounded.
func TestBadInputReplies(t *testing.T) {
	for name, c := range map[string]struct{ reply, want string }{
		"no HTTP":             {"hello\r\n\r\n", "malformed"},
		"nothing":             {"", "EOF"},
		"half a header":       {"HTTP/1.1 200 OK\r\nA: b\r\n", "EOF"},
		"a header for ever":   {"HTTP/1.1 200 OK\r\nA: " + strings.Repeat("a", maxHeader), "too long"},
		"announced for ever":  {strings.Repeat(early, maxInterim+1), "informational replies"},
		"half of what it has": {"HTTP/1.1 200 OK\r\nContent-Length: 10\r\n\r\nok", "unexpected EOF"},
	} {
		tr := daemon(t, reads(t, c.reply))
		reply, err := post(t.Context(), t, tr, "")
		if err == nil {
			_, err = io.ReadAll(reply.Body)
		}
		require.ErrorContains(t, err, c.want, name)
		require.Empty(t, tr.idle, name)
	}
}

// Connections that rest are few, and do not rest for long.
func TestIdleConnectionsEnd(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var tr transport
		rests := func() net.Conn {
			ours, theirs := net.Pipe()
			tr.keepIdle(&connection{Conn: ours})
			return theirs
		}
		ended := func(conn net.Conn) bool {
			_ = conn.SetReadDeadline(time.Now().Add(time.Nanosecond))
			_, err := conn.Read(make([]byte, 1))
			return err == io.EOF
		}
		first := rests()
		time.Sleep(idleFor / 2)
		var last net.Conn
		for range idleConnections {
			last = rests()
		}
		require.True(t, ended(last), "one more than there may be")
		require.False(t, ended(first))
		time.Sleep(idleFor / 2)
		synctest.Wait()
		require.True(t, ended(first))
		resting := func() int {
			tr.mu.Lock()
			defer tr.mu.Unlock()
			return len(tr.idle)
		}
		require.Equal(t, idleConnections-1, resting())
		time.Sleep(idleFor / 2)
		synctest.Wait()
		require.Zero(t, resting())
		again := rests()
		time.Sleep(idleFor)
		synctest.Wait()
		require.True(t, ended(again), "one that comes later")
	})
}
