package supervision_test

import (
	"fmt"
	"sync/atomic"
	"testing/synctest"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// client is somebody who asked one thing: it keeps every reply, so that a second
// one is seen.
type client struct {
	h       *house
	pid     *actor.PID
	request any
	replies locked[any]
	sent    time.Time
	former  bool        // it asked a node that was killed
	unmet   atomic.Bool // the node was gone when it asked
}

// send asks and does not wait.
func (h *house) send(request any) *client {
	h.Helper()
	c := &client{h: h, request: request, sent: time.Now()}
	c.pid = h.register(c, "client")
	h.clients = append(h.clients, c)
	h.system().Root.RequestWithCustomSender(h.top(), request, c.pid)
	return c
}

// ask asks and waits until nothing moves.
func (h *house) ask(request any) *client {
	h.Helper()
	c := h.send(request)
	synctest.Wait()
	return c
}

// tell says what is not answered.
func (h *house) tell(message any) {
	h.Helper()
	h.system().Root.Send(h.top(), message)
}

func (h *house) register(p actor.Process, kind string) *actor.PID {
	h.Helper()
	pid, fresh := h.system().ProcessRegistry.Add(p, kind+h.system().ProcessRegistry.NextId())
	if !fresh {
		h.Fatal("the name of a client was taken")
	}
	return pid
}

// heard are the replies so far.
func (c *client) heard() []any { return c.replies.all() }

// SendUserMessage implements actor.Process.
func (c *client) SendUserMessage(_ *actor.PID, message any) {
	m := actor.UnwrapEnvelopeMessage(message)
	if _, lost := m.(*actor.DeadLetterResponse); lost {
		c.unmet.Store(true)
		return // the library says that the request met nobody: that is no reply
	}
	c.replies.add(m)
}

// SendSystemMessage implements actor.Process.
func (c *client) SendSystemMessage(*actor.PID, any) {}

// Stop implements actor.Process.
func (c *client) Stop(*actor.PID) {}

// reply is the one reply of a request, of the type T.
func reply[T any](c *client) T {
	c.h.Helper()
	synctest.Wait()
	heard := c.heard()
	if len(heard) != 1 {
		c.h.Fatalf("%T was answered %d times: %s; want one %T", c.request, len(heard), brief(heard), *new(T))
	}
	m, ok := heard[0].(T)
	if !ok {
		c.h.Fatalf("%T was answered %T %s; want %T", c.request, heard[0], brief(heard[0]), m)
	}
	return m
}

// silent fails if the request was answered.
func silent(c *client) {
	c.h.Helper()
	synctest.Wait()
	if heard := c.heard(); len(heard) > 0 {
		c.h.Errorf("%T was answered too early: %s", c.request, brief(heard))
	}
}

// refused is the one reply of a request that refuses it with a code.
func refused(c *client, code messages.Code) messages.Error {
	c.h.Helper()
	err, ok := refusal(reply[any](c))
	if !ok || err.Code != code || err.Message == "" {
		c.h.Errorf("%T was answered %s; want a refusal with %s and a sentence", c.request, brief(c.heard()), code)
	}
	return err
}

func refusal(m any) (messages.Error, bool) {
	switch m := m.(type) {
	case messages.CommandRejected:
		return m.Err, true
	case messages.RequestRejected:
		return m.Err, true
	case messages.JobMissing:
		return m.Err, true
	}
	return messages.Error{}, false
}

// finished is the job of the one reply of a run that ended in the foreground.
func finished(c *client) messages.Record {
	c.h.Helper()
	return reply[messages.CommandFinished](c).Job
}

// subscriber hears a channel as a client far away would: it acknowledges, or
// does not, and it may vanish.
type subscriber struct {
	h     *house
	pid   *actor.PID
	said  locked[any]
	eager bool // acknowledges each fact when it comes

	asked    messages.Subscribe
	replaced bool // its channel was ended, or taken by another
}

// subscribe opens a channel, or resumes one.
func (h *house) subscribe(r messages.Subscribe, eager bool) *subscriber {
	h.Helper()
	s := &subscriber{h: h, eager: eager, asked: r}
	s.pid = h.register(s, "subscriber")
	h.subs = append(h.subs, s)
	h.system().Root.RequestWithCustomSender(h.top(), r, s.pid)
	synctest.Wait()
	return s
}

// SendUserMessage implements actor.Process.
func (s *subscriber) SendUserMessage(_ *actor.PID, message any) {
	m := actor.UnwrapEnvelopeMessage(message)
	s.said.add(m)
	if n, ok := m.(messages.Notification); ok && s.eager {
		s.h.system().Root.Send(s.h.top(), messages.Acknowledge{Channel: n.Channel, Seq: n.Seq})
	}
}

// SendSystemMessage implements actor.Process.
func (s *subscriber) SendSystemMessage(*actor.PID, any) {}

// Stop implements actor.Process.
func (s *subscriber) Stop(*actor.PID) {}

// channel is the name of its channel.
func (s *subscriber) channel() messages.ChannelID {
	s.h.Helper()
	name := s.name()
	if name == "" {
		s.h.Fatalf("no channel was opened: %s", brief(s.said.all()))
	}
	return name
}

// name is that of its channel, "" if it has none.
func (s *subscriber) name() messages.ChannelID {
	for _, m := range s.said.all() {
		if open, ok := m.(messages.Subscribed); ok {
			return open.Channel
		}
	}
	return ""
}

// told are the facts it was given, in order.
func (s *subscriber) told() []messages.Notification {
	var told []messages.Notification
	for _, m := range s.said.all() {
		if n, ok := m.(messages.Notification); ok {
			told = append(told, n)
		}
	}
	return told
}

// numbers are the numbers of the facts it was given.
func (s *subscriber) numbers() []messages.Seq {
	var numbers []messages.Seq
	for _, n := range s.told() {
		numbers = append(numbers, n.Seq)
	}
	return numbers
}

// last is the last number it was given, 0 for none.
func (s *subscriber) last() messages.Seq {
	if n := s.numbers(); len(n) > 0 {
		return n[len(n)-1]
	}
	return 0
}

// acknowledge says that all up to a number was dealt with.
func (s *subscriber) acknowledge(seq messages.Seq) {
	s.h.Helper()
	s.h.tell(messages.Acknowledge{Channel: s.channel(), Seq: seq})
	synctest.Wait()
}

// vanish plays the death of the subscriber: what is sent to it is lost.
func (s *subscriber) vanish() { s.h.system().ProcessRegistry.Remove(s.pid) }

// through gives the numbers from one to another.
func through(from, to messages.Seq) []messages.Seq {
	var all []messages.Seq
	for n := from; n <= to; n++ {
		all = append(all, n)
	}
	return all
}

// jobID is the id of the nth job of a node.
func jobID(n int) messages.JobID { return messages.JobID(fmt.Sprintf("j%d", n)) }
