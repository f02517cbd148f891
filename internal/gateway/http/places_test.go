package http

import (
	"fmt"
	"io"
	"net"
	"net/http"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// pipeOf is a connection, and its other end.
func pipeOf(t *testing.T) (ours, theirs net.Conn) {
	ours, theirs = net.Pipe()
	t.Cleanup(func() { _, _ = ours.Close(), theirs.Close() })
	return ours, theirs
}

// closed reports whether the end of a client sees the end of its connection now.
func closed(c net.Conn) bool {
	_ = c.SetReadDeadline(time.Now().Add(time.Millisecond))
	_, err := c.Read(make([]byte, 1))
	return err == io.EOF
}

// A connection above the limit waits until one is closed, or idle for a moment; the
// longest idle one goes. It is refused nothing.
func TestAConnectionWaitsForAPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(3, 1, "limits.test")
		var seated []*placedConn
		var theirs []net.Conn
		come := func() {
			ours, other := pipeOf(t)
			theirs = append(theirs, other)
			d := p.take(ours)
			d.track(http.StateNew)
			seated = append(seated, d)
		}
		for range 3 {
			come()
			seated[len(seated)-1].track(http.StateActive)
		}
		began := time.Now()
		time.AfterFunc(time.Hour, func() { _ = seated[1].Close() })
		come()
		require.Equal(t, time.Hour, time.Since(began), "all were in use")
		began = time.Now()
		seated[3].track(http.StateActive)
		seated[2].track(http.StateIdle)
		time.AfterFunc(leastIdle/2, func() { seated[0].track(http.StateIdle) })
		come()
		require.Equal(t, leastIdle, time.Since(began))
		require.True(t, closed(theirs[2]), "it was idle for longest")
		require.Equal(t, 3, p.open.now(), "its server has not seen its end yet")
		require.False(t, closed(theirs[0]))
		require.False(t, closed(theirs[3]))
		require.Panics(t, func() { _ = seated[2].admit() }, "what it sends now is not served")
		require.NoError(t, seated[2].Close())
		require.Equal(t, 3, p.taken, "it is counted once")

		seated[0].track(http.StateActive)
		seated[4].track(http.StateActive)
		ended := make(chan *placedConn)
		ours, _ := pipeOf(t)
		go func() { ended <- p.take(ours) }()
		synctest.Wait()
		p.close()
		require.Nil(t, <-ended)
	})
}

// Connections without the token take no place of those with it, however many there are:
// the oldest of them goes. A connection with the token that is one too many is refused,
// and the refusal names the setting.
func TestSecurityStrangersTakeNoPlace(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		p := newPlaces(2, 1, portSetting)
		enter := func() (*placedConn, net.Conn) {
			ours, theirs := pipeOf(t)
			d := p.receive(ours)
			d.track(http.StateNew)
			return d, theirs
		}
		first, theirFirst := enter()
		require.Nil(t, first.admit())
		first.track(http.StateActive)
		var strangers []net.Conn
		for range 10 * p.strangers {
			_, theirs := enter()
			strangers = append(strangers, theirs)
		}
		require.Equal(t, p.strangers, p.unknown.Len())
		require.True(t, closed(strangers[9*p.strangers-1]))
		require.False(t, closed(strangers[9*p.strangers]))
		require.False(t, closed(theirFirst))
		second, _ := enter()
		require.Nil(t, second.admit())
		second.track(http.StateActive)
		third, _ := enter()
		err := third.admit()
		require.Equal(t, "limit of 2 connections reached", err.Message)
		require.Equal(t, "end some, then try again, or set limits.http_connections higher", err.Hint)
		second.track(http.StateIdle)
		require.NotNil(t, third.admit(), "the second may be sending its next request")
		time.Sleep(leastIdle)
		require.Nil(t, third.admit())
		require.Nil(t, third.admit(), "it has its place")
		require.NoError(t, third.Close())
		require.NoError(t, third.Close())
		require.Equal(t, 1, p.taken)
	})
}

// Fewer descriptors are fewer places, and the refusal says what helps.
func TestPlacesAreAShareOfTheDescriptors(t *testing.T) {
	p := newPlaces(1<<40, 4, "limits.test")
	require.Equal(t, descriptors()/4, p.most)
	require.Equal(t, "end some, then try again, or raise the limit of open files (ulimit -n): it allows fewer connections than limits.test", p.full(p.most, "x").Hint)
	require.Equal(t, 1, newPlaces(1, 1<<40, "x").most)
}

// Another server, as that of the metrics, has its clients in spite of all who connect
// without a token.
func TestSecurityAnotherServerHasNoStrangers(t *testing.T) {
	t.Parallel()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	held := make(chan struct{})
	server := &http.Server{Handler: RequireToken(Token{Secret: "secret"}, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		_, _ = io.WriteString(w, "served")
		_ = http.NewResponseController(w).Flush()
		<-held
	}))}
	served := make(chan error, 1)
	go func() { served <- server.Serve(LimitConnections(server, l, 2)) }()
	t.Cleanup(func() { _ = server.Close(); <-served })
	dial := func() net.Conn {
		c, err := net.Dial("tcp", l.Addr().String())
		require.NoError(t, err)
		t.Cleanup(func() { _ = c.Close() })
		return c
	}
	ask := func() int {
		c := dial()
		_, err := fmt.Fprintf(c, "GET / HTTP/1.1\r\nHost: %s\r\nAuthorization: Bearer secret\r\n\r\n", l.Addr())
		require.NoError(t, err)
		var status int
		_, err = fmt.Fscanf(c, "HTTP/1.1 %d", &status)
		require.NoError(t, err)
		return status
	}
	for range 3 * maxStrangers {
		dial()
	}
	require.Equal(t, http.StatusOK, ask())
	require.Equal(t, http.StatusOK, ask())
	require.Equal(t, http.StatusServiceUnavailable, ask())
	close(held)
}
