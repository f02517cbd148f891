package inject

import (
	"context"
	"errors"
	"time"

	"troupe/faults"
	"troupe/internal/gateway/http"
	"troupe/messages"
)

// subscription is a subscription whose notices meet faults.
type subscription struct {
	http.Subscription
	in   *Injector
	next []any // to be returned before another is asked for
	held any   // to be returned after the next one; nil: none
}

// Subscribe implements http.Node.
func (n *node) Subscribe(ctx context.Context, r messages.Subscribe) (http.Subscription, error) {
	s, err := n.Node.Subscribe(ctx, r)
	if err != nil {
		return nil, err
	}
	return &subscription{Subscription: s, in: n.in}, nil
}

// reorderPatience is how long a notice waits for one that it can come after.
const reorderPatience = time.Second

// Next implements http.Subscription.
func (s *subscription) Next(ctx context.Context) (any, error) {
	for len(s.next) == 0 {
		heard, err := s.hear(ctx)
		if err != nil {
			return nil, err
		}
		before := s.held
		s.held = nil
		if heard != nil {
			s.next = s.meet(ctx, heard)
		}
		if before != nil {
			s.next = append(s.next, before)
		}
	}
	first := s.next[0]
	s.next = s.next[1:]
	return first, nil
}

// hear returns the next fact; nil if none has come and one waits to come after it.
func (s *subscription) hear(ctx context.Context) (any, error) {
	if s.held == nil {
		return s.Subscription.Next(ctx)
	}
	patient, cancel := context.WithTimeout(ctx, reorderPatience)
	defer cancel()
	heard, err := s.Subscription.Next(patient)
	if errors.Is(err, context.DeadlineExceeded) && ctx.Err() == nil {
		return nil, nil
	}
	return heard, err
}

// meet returns what the subscriber gets now in place of a fact.
func (s *subscription) meet(ctx context.Context, heard any) []any {
	out := []any{heard}
	n, is := heard.(messages.Notification)
	end, ends := n.Fact.(messages.CommandFinished)
	if !is || !ends {
		return out
	}
	for _, f := range s.in.at(faults.Notice, end.Job.UID, identityOf(end.Job)) {
		switch f.Do {
		case faults.Drop:
			return nil
		case faults.Duplicate:
			out = append(out, heard)
		case faults.Reorder:
			s.held = heard
			return nil
		case faults.Delay:
			pause(ctx, f.For)
		}
	}
	return out
}
