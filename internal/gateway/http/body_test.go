package http

import (
	"bufio"
	"context"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// listened is a node of which nothing is heard for a minute.
type listened struct{ Node }

func (listened) Err() error { return nil }

func (listened) Subscribe(context.Context, messages.Subscribe) (Subscription, error) {
	return silent{time.Now().Add(time.Minute)}, nil
}

// pipes is a listener on the unix socket of nobody.
type pipes chan net.Conn

func (p pipes) Accept() (net.Conn, error) {
	if c, ok := <-p; ok {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (p pipes) Close() error   { return nil }
func (p pipes) Addr() net.Addr { return &net.UnixAddr{Net: "unix"} }

type ourSocket struct{ net.Conn }

func (ourSocket) LocalAddr() net.Addr { return pipes(nil).Addr() }

// answered is what a server answers to a request, when nothing follows, and after how long.
func answered(t *testing.T, s *Server, l pipes, request string) (status string, all string, after time.Duration) {
	t.Helper()
	ours, theirs := net.Pipe()
	defer ours.Close()
	g := &admission{server: s, callers: map[int]*callerState{}, places: newPlaces(1, 1, ""), slots: make(chan struct{}, 1)}
	l <- g.enter(ourSocket{theirs}, 1)
	_, err := io.WriteString(ours, request)
	require.NoError(t, err)
	began, r := time.Now(), bufio.NewReader(ours)
	reply, err := http.ReadResponse(r, nil)
	require.NoError(t, err, request)
	after = time.Since(began)
	b, err := io.ReadAll(reply.Body)
	require.NoError(t, err)
	return reply.Status, string(b), after
}

// Who sends less of a body than he has said is answered all the same, and lets his
// connection go: at once if the body is none of the route's, else when its time is over.
func TestFaultBodiesThatDoNotCome(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		s, l := New(Options{Node: listened{}}), make(pipes)
		go func() { _ = s.local.Serve(l) }()
		for _, c := range []struct {
			line, status, says string
			after              time.Duration
		}{
			{"POST /v1/jobs", "400 Bad Request", "the body did not arrive in time", patience},
			{"GET /v1/health", "400 Bad Request", "the body did not arrive in time", patience},
			{"GET /v1/events", "400 Bad Request", "the body did not arrive in time", patience},
			{"DELETE /v1/jobs/j1", "400 Bad Request", "the body did not arrive in time", patience},
			{"POST /v1/jobs?x=1", "400 Bad Request", "is no parameter", strangerPatience},
			{"PUT /v1/jobs", "405 Method Not Allowed", "not allowed on this path", strangerPatience},
			{"POST /nowhere", "404 Not Found", "unknown path", strangerPatience},
		} {
			for _, body := range []string{"Content-Length: 9\r\n\r\n{", "Transfer-Encoding: chunked\r\n\r\n9\r\n{"} {
				status, says, after := answered(t, s, l, c.line+" HTTP/1.1\r\nHost: t\r\nContent-Type: application/json\r\n"+body)
				require.Equal(t, c.status, status, c.line)
				require.Contains(t, says, c.says, c.line)
				require.Equal(t, c.after, after, c.line)
			}
		}
		for _, body := range []string{"\r\n", "Content-Length: 2\r\n\r\n{}"} { // the time for a body is none for what lasts
			began := time.Now()
			status, says, after := answered(t, s, l, "GET /v1/events HTTP/1.1\r\nHost: t\r\n"+body)
			require.Equal(t, "200 OK", status)
			require.Zero(t, after)
			require.Equal(t, 3, strings.Count(says, ": still here"))
			require.Equal(t, time.Minute, time.Since(began))
		}
		close(l)
		require.NoError(t, s.Close(t.Context()))
	})
}
