package workers

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"testing/synctest"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/stretchr/testify/require"
)

// deaf is an actor's other side: it notes what comes.
type deaf struct {
	mu     sync.Mutex
	heard  []string
	failed []error
	handle func(message any)
}

func (d *deaf) note(kind string, message any) {
	d.mu.Lock()
	d.heard = append(d.heard, fmt.Sprint(kind, message))
	d.mu.Unlock()
	if d.handle != nil {
		d.handle(message)
	}
}

func (d *deaf) InvokeSystemMessage(m any)     { d.note("system ", m) }
func (d *deaf) InvokeUserMessage(m any)       { d.note("", actor.UnwrapEnvelopeMessage(m)) }
func (d *deaf) EscalateFailure(reason, _ any) { d.failed = append(d.failed, reason.(error)) }

func inlineBox(l *RunQueue, d *deaf) *Mailbox {
	m := l.NewMailbox()
	m.RegisterHandlers(d, actor.NewSynchronizedDispatcher(inARow))
	m.Start()
	return m
}

// Messages are taken in order, those of the system first.
func TestMailboxOrder(t *testing.T) {
	var l RunQueue
	d := &deaf{}
	m := inlineBox(&l, d)
	d.handle = func(message any) {
		if message == 1 { // these wait until it is done
			m.PostUserMessage(2)
			m.PostUserMessage(3)
			m.PostSystemMessage("stop")
			require.Equal(t, 2, m.UserMessageCount())
		}
	}
	m.PostUserMessage(1)
	require.Equal(t, []string{"1", "system stop", "2", "3"}, d.heard)
}

// Who sends to an actor that works inline is not kept while others send.
func TestMailboxLetsGo(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		var l RunQueue
		d := &deaf{}
		m := inlineBox(&l, d)
		here, returned := true, make(chan struct{})
		n := 0
		d.handle = func(any) {
			if n++; n > inARow {
				<-returned // this is a worker's
				require.False(t, here)
			}
			if n < 3*inARow {
				m.PostUserMessage(n)
			}
		}
		m.PostUserMessage(0)
		here = false
		close(returned)
		synctest.Wait()
		require.Equal(t, 3*inARow, n)
		l.Apart.Close()
	})
}

// An actor that fails hears nothing but the system's word until it is resumed, and
// what waited is not lost.
func TestMailboxOfOneThatFails(t *testing.T) {
	var l RunQueue
	d := &deaf{}
	m := inlineBox(&l, d)
	boom := errors.New("boom")
	d.handle = func(message any) {
		if message == "fail" {
			m.PostUserMessage("behind")
			m.PostSystemMessage(&actor.SuspendMailbox{})
			panic(boom)
		}
	}
	m.PostUserMessage("fail")
	m.PostSystemMessage("restart")
	require.Equal(t, []string{"fail", "system restart"}, d.heard)
	require.Equal(t, []error{boom}, d.failed)
	m.PostSystemMessage(&actor.ResumeMailbox{})
	require.Equal(t, []string{"fail", "system restart", "behind"}, d.heard)
}

// What waits for an actor that has stopped, or comes later, is not dropped, whether it was
// stopped for having failed or failed as its parent stopped it.
func TestMailboxOfOneThatStops(t *testing.T) {
	for _, words := range [][]any{{&actor.SuspendMailbox{}, "stop"}, {"stop", &actor.SuspendMailbox{}}} {
		var l RunQueue
		d := &deaf{}
		m := inlineBox(&l, d)
		var lost []any
		d.handle = func(message any) {
			switch message {
			case "fail":
				m.PostUserMessage("behind")
				for _, word := range words {
					m.PostSystemMessage(word)
				}
			case "stop":
				m.Close(func(message any) { lost = append(lost, message) })
			}
		}
		m.PostUserMessage("fail")
		m.PostUserMessage("late")
		require.Equal(t, []string{"fail", "system stop"}, d.heard)
		require.Equal(t, []any{"behind", "late"}, lost)
	}
}

// Many may send at once: nothing is lost, and each one's messages keep their order.
func TestMailboxOfMany(t *testing.T) {
	var l RunQueue
	next, wrong, n := map[int]int{}, 0, 0
	d := &deaf{}
	done := make(chan struct{})
	const senders, each = 8, 2000
	d.handle = func(message any) {
		from, i := message.([2]int)[0], message.([2]int)[1]
		if next[from] != i {
			wrong++
		}
		next[from] = i + 1
		if n++; n == senders*each {
			close(done)
		}
	}
	m := l.NewMailbox()
	m.RegisterHandlers(d, &l)
	for s := range senders {
		go func() {
			for i := range each {
				m.PostUserMessage([2]int{s, i})
			}
		}()
	}
	<-done
	require.Zero(t, wrong)
	l.Apart.Close()
}

// A queue that is never empty does not keep what has gone through it.
func TestFifoKeepsWhatWaits(t *testing.T) {
	var f fifo[int]
	in, out := 0, 0
	for range 100_000 {
		for f.len() < 10 {
			f.push(in)
			in++
		}
		require.Equal(t, out, f.pop())
		out++
	}
	require.LessOrEqual(t, cap(f.items), 64)
	for f.len() < 100_000 {
		f.push(in)
		in++
	}
	for f.len() > 0 {
		require.Equal(t, out, f.pop())
		out++
	}
	require.Zero(t, cap(f.items))
}
