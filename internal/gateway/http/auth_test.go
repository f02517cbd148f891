package http

import (
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// loopback is a connection within a test, as if it were one on a port.
type loopback struct{ net.Conn }

func (loopback) LocalAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(127, 0, 0, 1), Port: 80} }

// doors is a listener on which one client knocks.
type doors chan net.Conn

func (d doors) Accept() (net.Conn, error) {
	if c, open := <-d; open {
		return c, nil
	}
	return nil, net.ErrClosed
}

func (d doors) Close() error   { return nil }
func (d doors) Addr() net.Addr { return &net.TCPAddr{} }

// A body that does not come holds a connection for a while only, and that of a stranger,
// like the header that he may take as long for, for a shorter one; whose body has come may
// be answered when it pleases.
func TestSecurityGuardIsNotHeldUp(t *testing.T) {
	const asks = "POST / HTTP/1.1\r\nHost: localhost\r\nContent-Length: 4\r\n"
	const admitted = asks + "Authorization: Bearer secret\r\n"
	for name, c := range map[string]struct {
		request, want string
		in            time.Duration
	}{
		"a stranger":                    {asks + "\r\n", "401", strangerPatience},
		"a stranger, in pieces":         {"POST / HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n1\r\nx", "401", strangerPatience},
		"a stranger without a body":     {"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n", "401", 0},
		"who has the token":             {admitted + "\r\nx", "400", patience},
		"who has the token, and a body": {admitted + "Connection: close\r\n\r\nbody", "200", time.Hour},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				server := &http.Server{Handler: RequireToken(Token{Secret: "secret"}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
					if _, err := io.ReadAll(r.Body); err != nil {
						w.WriteHeader(http.StatusBadRequest)
						return
					}
					select {
					case <-time.After(time.Hour):
					case <-r.Context().Done():
						t.Error("the client was taken for one that has gone")
					}
				}))}
				knock := make(doors, 1)
				ours, theirs := net.Pipe()
				knock <- loopback{theirs}
				served := make(chan error, 1)
				go func() { served <- server.Serve(knock) }()
				began := time.Now()
				_, err := io.WriteString(ours, c.request)
				require.NoError(t, err)
				said, _ := io.ReadAll(ours) // to its end: the connection is closed
				require.Contains(t, string(said), "HTTP/1.1 "+c.want)
				require.Equal(t, c.in, time.Since(began))
				close(knock)
				require.Error(t, <-served)
			})
		})
	}
}
