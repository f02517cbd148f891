package http

import (
	"net"
	"strconv"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// asked is a gate at which processes ask, and what they are told.
type asked struct {
	t *testing.T
	*admission
}

func newAsked(t *testing.T) asked {
	s := New(Options{Node: ended{}})
	return asked{t, &admission{server: s, most: 2 * maxConnections, busyReplies: maxTurnedAway, callers: map[int]*callerLimits{}, slots: make(slots, 1)}}
}

// door lets a process in.
func (a asked) door(pid int) *clientConn {
	here, there := net.Pipe()
	a.t.Cleanup(func() { _ = there.Close() })
	return a.enter(here, pid)
}

// granted is how many of so many requests of a process are served.
func granted(d *clientConn, asks int) int { return grantedFor(d, asks, "") }

// grantedFor is how many it asks for somebody.
func grantedFor(d *clientConn, asks int, whom string) int {
	n := 0
	for range asks {
		if d.allowRequest(whom) == nil {
			n++
		}
	}
	return n
}

// A process asks 500 times at once and 100 times a second, over as many
// connections as it likes; another one has as many of its own.
func TestRequestsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsked(t)
		first, second, other := a.door(1), a.door(1), a.door(2)
		require.Equal(t, requestBurst, granted(first, 2*requestBurst))
		require.Zero(t, granted(second, 1))
		require.Equal(t, requestBurst, granted(other, 2*requestBurst))
		time.Sleep(time.Second)
		require.Equal(t, requestRate, granted(second, requestBurst))
		require.NoError(t, first.Close())
		require.NoError(t, second.Close())
		again := a.door(1) // who comes back has the bucket that he left
		require.Zero(t, granted(again, 1))
		time.Sleep(time.Hour)
		require.Equal(t, requestBurst, granted(again, 2*requestBurst))
	})
}

// Whom a process asks for has what a process has; of too many the process itself has it.
func TestRequestsAreCountedForEachThatIsServed(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsked(t)
		d := a.door(1)
		for _, whom := range []string{"a", "b"} {
			require.Equal(t, requestBurst, grantedFor(d, 2*requestBurst, whom))
		}
		for i := range maxServed - 2 {
			require.Equal(t, 1, grantedFor(d, 1, "c"+strconv.Itoa(i)))
		}
		require.Equal(t, requestBurst, grantedFor(d, 2*requestBurst, "one too many"))
		require.Zero(t, granted(d, 1), "it was the process's own")
		require.Zero(t, grantedFor(d, 1, strings.Repeat("x", maxWhom+1)))
		time.Sleep(time.Hour)
		require.Equal(t, requestBurst, grantedFor(d, 2*requestBurst, "one too many"), "the others ask no more")
		require.Equal(t, requestBurst, granted(d, 2*requestBurst))
		d.gate.token = true // all of a port are one, whomever they name
		time.Sleep(time.Hour)
		require.Equal(t, requestBurst, grantedFor(d, 2*requestBurst, "a"))
		require.Zero(t, grantedFor(d, 1, "b"))
	})
}

// Those who have left are forgotten, the sooner the less they have asked.
func TestCallersAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAsked(t)
		stays := a.door(1)
		for pid := 2; pid < 2*maxCallers; pid++ {
			d := a.door(pid)
			require.NotNil(t, d)
			require.Nil(t, d.allowRequest(""))
			require.NoError(t, d.Close())
			require.LessOrEqual(t, len(a.callers), maxCallers)
		}
		require.Same(t, stays.caller, a.callers[1])
		require.Equal(t, 1, a.open)
	})
}

// One process cannot take all connections, and those that are held open leave some
// for who looks, or ends them.
func TestConnectionsAreCountedForEach(t *testing.T) {
	a := newAsked(t)
	for range maxConnections {
		require.False(t, a.door(1).overLimit)
	}
	for range maxTurnedAway {
		require.True(t, a.door(1).overLimit)
	}
	require.Nil(t, a.door(1))
	d := a.door(2)
	require.False(t, d.overLimit)
	leave, err := a.slots.hold()
	require.Nil(t, err)
	_, err = a.slots.hold()
	require.Equal(t, "connections", err.Reason)
	leave()
	_, err = a.slots.hold()
	require.Nil(t, err)
	require.NoError(t, d.Close())
	require.NoError(t, d.Close(), "it is counted once")
	require.Equal(t, maxConnections+maxTurnedAway, a.open)
}
