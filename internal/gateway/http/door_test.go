package http

import (
	"context"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// deadlines are those that a connection was given.
type deadlines struct {
	net.Conn
	given []time.Time
}

func (d *deadlines) SetDeadline(t time.Time) error      { return d.SetWriteDeadline(t) }
func (d *deadlines) SetWriteDeadline(t time.Time) error { d.given = append(d.given, t); return nil }

// A deadline is set where the one before would be late, or is near; a connection has
// none when none is wanted.
func TestADeadlineServesSeveralReplies(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		conn := &deadlines{}
		d := &clientConn{placedConn: &placedConn{Conn: conn}}
		set := func(t time.Time) { _ = d.SetWriteDeadline(t) }
		within := func(least time.Duration) { set(time.Now().Add(least)) }
		start := time.Now()
		within(30 * time.Second)
		time.Sleep(14 * time.Second)
		within(30 * time.Second) // 16 are left
		require.Len(t, conn.given, 1)
		within(time.Second) // sooner
		require.Equal(t, start.Add(15*time.Second), conn.given[1])
		within(30 * time.Second) // one is left
		require.Equal(t, start.Add(44*time.Second), conn.given[2])
		time.Sleep(time.Minute)
		within(30 * time.Second) // it is over
		require.Len(t, conn.given, 4)
		set(time.Time{})
		require.Zero(t, conn.given[4])
		within(30 * time.Second)
		require.Len(t, conn.given, 6)
		_ = d.SetDeadline(time.Time{}) // as of a connection that is handed over
		within(30 * time.Second)
		require.Len(t, conn.given, 8)
	})
}

// timedReply is a reply that is given deadlines.
type timedReply struct {
	http.ResponseWriter
	given []time.Time
}

func (r *timedReply) SetWriteDeadline(t time.Time) error { r.given = append(r.given, t); return nil }

// Whoever begins a request has a deadline for what is written before the reply, which the
// reply before may have left over; a reply that goes on for long has none.
func TestOnlyStreamsHaveNoDeadline(t *testing.T) {
	s := New(Options{})
	ctx := context.WithValue(t.Context(), connKey{}, &clientConn{placedConn: &placedConn{in: newPlaces(1, 1, ""), placed: true}, gate: &admission{server: s}})
	ctx = context.WithValue(ctx, http.LocalAddrContextKey, &net.UnixAddr{Name: "s", Net: "unix"})
	r := httptest.NewRequestWithContext(ctx, http.MethodGet, "/v1/x", nil)
	w := &timedReply{ResponseWriter: httptest.NewRecorder()}
	served := false
	s.guard(http.HandlerFunc(func(http.ResponseWriter, *http.Request) { served = true })).ServeHTTP(w, r)
	require.True(t, served)
	require.Len(t, w.given, 1)
	require.True(t, w.given[0].After(time.Now()))
	_, end := (&request{Server: s, w: w, r: r, ctx: ctx}).stream()
	defer end()
	require.Zero(t, w.given[1])
}
