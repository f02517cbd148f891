package keeper

import (
	"bytes"
	"errors"
	"fmt"
	"runtime"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/messages"
	"troupe/spill"
)

// What may wait goes with what may not, in its order, or when there is much of it.
func TestLineSendsLater(t *testing.T) {
	a, b := pair(t)
	from, to := newLink(100), newLink(100)
	from.attach(a, 0)
	from.sendLater(message{kind: askSettle, gen: 1})
	if from.maybeSent(1) {
		t.Error("it was sent at once")
	}
	from.send(message{kind: askStart, gen: 2})
	got := next(t, b, to)
	if len(got) != 2 || got[0].gen != 1 || got[1].gen != 2 {
		t.Errorf("in one frame: %+v", got)
	}
	for i := range maxLater + 1 {
		from.sendLater(message{kind: askSettle, gen: uint64(10 + i)})
	}
	if got = next(t, b, to); len(got) != maxLater+1 {
		t.Errorf("%d of %d were sent", len(got), maxLater+1)
	}
}

// fill sends until a socket takes no more.
func fill(t *testing.T, c *conn, p []byte) (sent int) {
	t.Helper()
	for ; ; sent++ {
		err := c.trySend(p, nil)
		if errors.Is(err, unix.EAGAIN) {
			return sent
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

// Who waits for room hears of it, and of the end of the connection on either side.
func TestSendWaitsForRoom(t *testing.T) {
	p := bytes.Repeat([]byte{'x'}, 1000)
	a, b := pair(t)
	n := fill(t, a, p)
	sent := make(chan error, 1)
	go func() { sent <- a.send(p, nil, true) }()
	for range n + 1 {
		if got, _, err := b.recv(); err != nil || len(got) != len(p) {
			t.Fatal(len(got), err)
		}
	}
	if err := <-sent; err != nil {
		t.Error(err)
	}
	for name, end := range map[string]func(a, b *conn){
		"ours": func(a, _ *conn) { a.close() }, "theirs": func(_, b *conn) { b.close() },
	} {
		for range 300 { // a sender that has just begun to wait, or waits already
			a, b := pair(t)
			fill(t, a, p)
			begun := make(chan struct{})
			go func() {
				close(begun)
				sent <- a.send(p, nil, true)
			}()
			<-begun
			runtime.Gosched()
			end(a, b)
			if err := <-sent; err == nil {
				t.Errorf("sent over a connection that was closed (%s)", name)
			}
			a.close()
			b.close()
		}
	}
}

// A receiver hears of the end on either side, too.
func TestRecvEnds(t *testing.T) {
	for _, ours := range []bool{true, false} {
		a, b := pair(t)
		ended := make(chan error, 1)
		go func() {
			_, _, err := a.recv()
			ended <- err
		}()
		if ours {
			a.close()
		} else {
			b.close()
		}
		if err := <-ended; err == nil {
			t.Error("received something")
		}
	}
}

func TestRecent(t *testing.T) {
	var r recentOutputs
	log := func(whole bool) *[3]*remoteLog {
		j := &job{}
		o := newRemoteLog(nil, "", messages.Merged)
		o.update(logState{State: spill.State{Closed: true}, Whole: whole}, nil)
		j.logs[messages.Merged] = o
		return j.small()
	}
	r.keep("large", log(false))
	for i := range maxRecent {
		r.keep(messages.UID(fmt.Sprint(i)), log(true))
	}
	if r.log("large", messages.Merged) != nil || r.log("0", messages.Merged) == nil || r.log("0", messages.Stdout) != nil {
		t.Error("not what was kept")
	}
	r.keep("one more", log(true))
	r.drop("1")
	if r.log("0", messages.Merged) != nil || r.log("1", messages.Merged) != nil || len(r.logs) != maxRecent-1 {
		t.Errorf("%d are kept, the oldest and what was removed too", len(r.logs))
	}
}
