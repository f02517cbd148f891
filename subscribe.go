package troupe

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

// Subscription hears the facts of a node, each with its number, at least once
// and in order. What was not kept for a subscriber that stayed away is said as
// FactsDropped. It is for one goroutine.
type Subscription struct {
	node            *Node
	pid             *actor.PID
	channel         messages.ChannelID
	after, newest   messages.Seq
	heard           chan any
	unacked         messages.Seq // the last that was returned
	returned, share int          // so many since the last acknowledgement, of at most so many

	mu     sync.Mutex
	left   bool // it was given up before it was open
	over   bool // its channel has ended, or is another's
	closed chan struct{}
	once   sync.Once // closes closed
}

// inboxSlack is what a channel may say beside the notifications of its window:
// Subscribed, FactsDropped between two of them, Unsubscribed.
const inboxSlack = messages.MaxOutbox + 8

// Subscribe opens a channel for facts. A slow subscriber delays nobody: its
// channel reads on from the journal.
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
	s := &Subscription{node: n, share: max(r.Window/2, 1), heard: make(chan any, r.Window+inboxSlack), closed: make(chan struct{})}
	s.pid, _ = n.system.ProcessRegistry.Add((*inbox)(s), "subscriber"+n.system.ProcessRegistry.NextId())
	n.system.Root.RequestWithCustomSender(n.supervisor, r, s.pid)
	first, err := s.next(ctx)
	if err != nil {
		s.giveUp()
		return nil, err
	}
	if open, ok := first.(messages.Subscribed); ok {
		s.channel, s.after, s.newest = open.Channel, open.After, open.Newest
		return s, nil
	}
	s.forget()
	first, err = n.answer(first, r)
	return nil, cmp.Or(err, messages.Refusal(first), errNoChannel)
}

// channelEnded says of a channel that it has ended, and why: it is ErrClosed.
type channelEnded struct{ messages.Unsubscribed }

// Error implements error.
func (e *channelEnded) Error() string {
	if e.Reason == messages.ChannelReplaced {
		return fmt.Sprintf("another subscriber took the channel %s over; subscribe under a name of your own", e.Channel)
	}
	return fmt.Sprintf("the channel %s has ended: %s", e.Channel, e.Reason)
}

// Is reports that the error is ErrClosed.
func (e *channelEnded) Is(target error) bool { return target == ErrClosed }

// errNoChannel is for a first word that opens no channel and is no refusal.
var errNoChannel = errors.New("the channel ended before it was open; subscribe again")

// Channel names the subscription: subscribing again with it resumes.
func (s *Subscription) Channel() messages.ChannelID { return s.channel }

// After is the number behind which the subscription began: subscribing again
// after it misses nothing.
func (s *Subscription) After() messages.Seq { return s.after }

// Newest is the number of the last thing that had happened when the subscription
// began: whoever hears it knows all of the past.
func (s *Subscription) Newest() messages.Seq { return s.newest }

// Next returns a Notification or FactsDropped. The call acknowledges what those
// before it returned if it has to wait, or they are half of the window: who comes
// back before that hears them again. It is ErrClosed when the channel has ended, and
// behind Close.
func (s *Subscription) Next(ctx context.Context) (any, error) {
	select {
	case <-s.closed:
		return nil, s.wasClosed()
	default:
	}
	if s.returned >= s.share || s.returned > 0 && len(s.heard) == 0 {
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
		return nil, &channelEnded{fact}
	}
	return m, nil
}

func (s *Subscription) next(ctx context.Context) (any, error) {
	select {
	case m := <-s.heard:
		return m, nil
	default:
	}
	select {
	case m := <-s.heard:
		return m, nil
	case <-ctx.Done():
		return nil, ctx.Err()
	case <-s.closed:
		return nil, s.wasClosed()
	case <-s.node.over:
		select { // what was told before the end is heard
		case m := <-s.heard:
			return m, nil
		default:
			return nil, s.node.cause()
		}
	}
}

// Close ends the channel; what is not acknowledged is forgotten with it. To
// come back later, leave it open and subscribe again with its Channel. A Next that
// waits is let go. Closing again does nothing: the channel may be another's by then.
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

// giveUp leaves a channel that may be on its way: its first word ends it.
func (s *Subscription) giveUp() {
	s.mu.Lock()
	s.left = true
	s.mu.Unlock()
	select {
	case m := <-s.heard:
		s.turnAway(m)
	default:
	}
}

// turnAway ends a channel that nobody waits for any more.
func (s *Subscription) turnAway(m any) {
	s.forget()
	if open, ok := m.(messages.Subscribed); ok {
		s.node.tell(messages.Unsubscribe{Channel: open.Channel})
	}
}

func (s *Subscription) forget() { s.node.system.ProcessRegistry.Remove(s.pid) }

// inbox is the subscription as the actor system sees it.
type inbox Subscription

// SendUserMessage implements actor.Process. The channel sends no more than its
// window, for which there is room.
func (s *inbox) SendUserMessage(_ *actor.PID, message any) {
	m := heardBy(message)
	if !s.take(m) {
		(*Subscription)(s).turnAway(m)
	}
	runtime.Gosched() // whoever was told goes first, then the tree
}

// take reports whether somebody waits for m.
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
	case s.heard <- m:
	default: // a fault of ours: it is not acknowledged, so it comes again
	}
	return true
}

// SendSystemMessage implements actor.Process.
func (s *inbox) SendSystemMessage(*actor.PID, any) {}

// Stop implements actor.Process.
func (s *inbox) Stop(*actor.PID) {}
