package http

import (
	"net"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/messages"
)

// askedGate is a gate at which processes ask, and what they are told.
type askedGate struct {
	t *testing.T
	*admission
}

func newAskedGate(t *testing.T, token bool) askedGate {
	s := New(Options{Node: ended{}})
	g := &admission{server: s, token: token, places: newPlaces(64, 4, "limits.test"), callers: map[int]*callerState{}, slots: make(chan struct{}, 1)}
	if token {
		g.bucket = newBucket(DefaultPortRequests)
	}
	return askedGate{t, g}
}

// door lets a process in.
func (a askedGate) door(pid int) *clientConn {
	here, there := net.Pipe()
	a.t.Cleanup(func() { _ = there.Close() })
	return a.enter(here, pid)
}

// granted is how many of so many requests of a connection are served.
func granted(d *clientConn, asks int) (n int) {
	for range asks {
		if d.allowRequest() == nil {
			n++
		}
	}
	return n
}

// All clients of TCP together ask 500 times at once and 100 times a second; the refusal
// names the setting.
func TestRequestsOverTCPAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAskedGate(t, true)
		first, second := a.door(0), a.door(0)
		const burst = burstSeconds * DefaultPortRequests
		require.Equal(t, burst, granted(first, 2*burst))
		require.Zero(t, granted(second, 1))
		require.Contains(t, second.allowRequest().Hint, "limits.http_requests")
		time.Sleep(time.Second)
		require.Equal(t, DefaultPortRequests, granted(second, burst))
		time.Sleep(time.Hour)
		require.Equal(t, burst, granted(first, 2*burst))
	})
}

// The owner at a unix socket asks as often as it likes.
func TestRequestsOfTheOwnerAreNotCounted(t *testing.T) {
	a := newAskedGate(t, false)
	require.Equal(t, 100_000, granted(a.door(1), 100_000))
}

// Processes without a connection are forgotten, but not at once if they have left a scope.
func TestCallersAreForgotten(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		a := newAskedGate(t, false)
		stays := a.door(1)
		for pid := 2; pid < 2*maxCallers; pid++ {
			d := a.door(pid)
			if pid%2 == 0 {
				d.noteScopeLeft("a")
			}
			require.NoError(t, d.Close())
			require.NoError(t, d.Close(), "it is counted once")
			require.Equal(t, 1, a.places.taken)
			require.LessOrEqual(t, len(a.callers), maxCallers)
		}
		require.Same(t, stays.caller, a.callers[1])
		again := a.door(2*maxCallers - 2)
		_, left := again.leftScope("a")
		require.True(t, left)
	})
}

// Long requests leave connections for short ones, and the refusal names the setting.
func TestLongRequestsLeaveRoom(t *testing.T) {
	a := newAskedGate(t, false)
	leave, err := a.holdSlot()
	require.Nil(t, err)
	_, err = a.holdSlot()
	require.Equal(t, messages.Error{
		Code: messages.ResourceExhausted, Reason: "connections", Message: "limit of 1 open runs, waits and streams reached", Hint: "end some, then try again, or set limits.test higher",
	}, *err)
	leave()
	_, err = a.holdSlot()
	require.Nil(t, err)
}
