package node

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"sync"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// Subscription receives the facts of a node, numbered, at least once and in order. Facts that
// were not kept for it are reported as FactsDropped. One goroutine may use it.
type Subscription struct {
	node            *Node
	pid             *actor.PID
	channel         messages.ChannelID
	after, newest   messages.Seq
	origin          string
	received        chan any
	unacked         messages.Seq // last number that Next returned
	returned, share int          // returned: facts since the last acknowledgement; share: acknowledge at that many

	mu     sync.Mutex
	left   bool // given up before the channel was open
	over   bool // the channel has ended or belongs to another subscriber
	closed chan struct{}
	once   sync.Once // closes closed
}

// inboxSlack is room for messages beside the window of notifications: Subscribed,
// FactsDropped between two of them, Unsubscribed.
const inboxSlack = messages.MaxOutbox + 8

// Subscribe opens a channel of facts. A slow subscriber delays no other: its channel reads
// on from the journal.
func (n *Node) Subscribe(ctx context.Context, r messages.Subscribe) (*Subscription, error) {
	if err := n.Err(); err != nil {
		return nil, err
	}
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	if r.Window <= 0 {
		r.Window = messages.DefaultWindow
	}
	r.Window = min(r.Window, messages.MaxOutbox)
	s := &Subscription{node: n, share: max(r.Window/2, 1), received: make(chan any, r.Window+inboxSlack), closed: make(chan struct{})}
	s.pid, _ = n.system.ProcessRegistry.Add((*inbox)(s), "subscriber"+n.system.ProcessRegistry.NextId())
	n.system.Root.RequestWithCustomSender(n.supervisor, r, s.pid)
	first, err := s.next(ctx)
	if err != nil {
		s.giveUp()
		return nil, err
	}
	if open, ok := first.(messages.Subscribed); ok {
		s.channel, s.after, s.newest, s.origin = open.Channel, open.After, open.Newest, open.Origin
		return s, nil
	}
	s.forget()
	first, err = n.answer(first, r)
	return nil, cmp.Or(err, messages.Refusal(first), errNoChannel)
}

// channelEnded is the error of a channel that has ended, and why. It is ErrClosed.
type channelEnded struct{ messages.Unsubscribed }

// Error implements error.
func (e *channelEnded) Error() string {
	if e.Reason == messages.ChannelReplaced {
		return fmt.Sprintf("another subscriber has taken the channel %s; subscribe with another channel name", e.Channel)
	}
	return fmt.Sprintf("the channel %s has ended: %s", e.Channel, e.Reason)
}

// Is reports whether target is ErrClosed.
func (e *channelEnded) Is(target error) bool { return target == ErrClosed }

// errNoChannel is the error after a first message that neither opens a channel nor refuses.
var errNoChannel = errors.New("the channel ended before it was open; subscribe again")

// After returns the number after which the subscription began. Subscribing again after it
// misses nothing.
func (s *Subscription) After() messages.Seq { return s.after }

// Newest returns the number of the last fact before the subscription began. A subscriber
// that has received it knows the whole past.
func (s *Subscription) Newest() messages.Seq { return s.newest }

// Origin returns the origin of the journal. A subscriber that returns after a restart gives it with
// its number. "" means that the journal has none.
func (s *Subscription) Origin() string { return s.origin }

// Next returns a Notification, FactsDropped, or Subscribed with a lower Newest. It acknowledges earlier facts when it blocks,
// or after half a window. Facts not acknowledged are sent again after a reconnect. After
// Close or the end of the channel it returns ErrClosed, and a *messages.Error if the journal
// cannot be read any more.
func (s *Subscription) Next(ctx context.Context) (any, error) {
	select {
	case <-s.closed:
		return nil, s.wasClosed()
	default:
	}
	if s.returned >= s.share || s.returned > 0 && len(s.received) == 0 {
		s.node.tell(messages.Acknowledge{Channel: s.channel, Seq: s.unacked})
		s.returned = 0
	}
	m, err := s.next(ctx)
	if err != nil {
		return nil, err
	}
	switch fact := m.(type) {
	case messages.Notification:
		s.unacked = fact.Seq
		s.returned++
	case messages.Unsubscribed:
		if fact.Err != nil {
			return nil, fact.Err
		}
		return nil, &channelEnded{fact}
	}
	return m, nil
}

func (s *Subscription) next(ctx context.Context) (any, error) {
	select {
	case m := <-s.received:
		return m, nil
	default:
	}
	select {
	case m := <-s.received:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.closed:
		return nil, s.wasClosed()
	case <-s.node.over:
		select { // facts that arrived before the end
		case m := <-s.received:
			return m, nil
		default:
			return nil, s.node.cause()
		}
	}
}

// Close ends the channel and drops its unacknowledged facts. To resume later, leave it open
// and subscribe again with its Channel. A blocked Next returns. A second call does nothing,
// because the channel may be another subscriber's.
func (s *Subscription) Close() error {
	s.once.Do(func() {
		close(s.closed)
		s.mu.Lock()
		over := s.over
		s.mu.Unlock()
		if !over {
			s.node.tell(messages.Unsubscribe{Channel: s.channel})
		}
		s.forget()
	})
	return nil
}

func (s *Subscription) wasClosed() error {
	return &channelEnded{messages.Unsubscribed{Channel: s.channel, Reason: "unsubscribed"}}
}

// giveUp abandons a channel that may still open. Its first message ends it.
func (s *Subscription) giveUp() {
	s.mu.Lock()
	s.left = true
	s.mu.Unlock()
	select {
	case m := <-s.received:
		s.closeUnwanted(m)
	default:
	}
}

// closeUnwanted ends a channel for which no caller waits.
func (s *Subscription) closeUnwanted(m any) {
	s.forget()
	if open, ok := m.(messages.Subscribed); ok {
		s.node.tell(messages.Unsubscribe{Channel: open.Channel})
	}
}

func (s *Subscription) forget() { s.node.system.ProcessRegistry.Remove(s.pid) }

// inbox is the subscription as a process of the actor system.
type inbox Subscription

// SendUserMessage implements actor.Process. The inbox has room for the channel's window.
func (s *inbox) SendUserMessage(_ *actor.PID, message any) {
	m := unwrapReply(message)
	if !s.take(m) {
		(*Subscription)(s).closeUnwanted(m)
	}
	runtime.Gosched() // run the receiver first, then the tree
}

// take stores m and reports whether the subscription still wants it.
func (s *inbox) take(m any) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.left {
		return false
	}
	if _, ended := m.(messages.Unsubscribed); ended {
		s.over = true
	}
	select {
	case s.received <- m:
	default: // a bug: m is not acknowledged, so it is sent again
	}
	return true
}

// SendSystemMessage implements actor.Process.
func (s *inbox) SendSystemMessage(*actor.PID, any) {}

// Stop implements actor.Process.
func (s *inbox) Stop(*actor.PID) {}
