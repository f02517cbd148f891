package client

import (
	"context"

	"troupe/internal/api"
	"troupe/messages"
)

// maxPage bounds a page of events in bytes. One larger event is a page by itself.
const maxPage = 1 << 20

// EventPage is a page of the facts that a daemon has recorded.
type EventPage struct {
	Events []api.Event
	Next   messages.Seq // the number after which the next page begins
	More   bool         // more facts were recorded when the page was read
	Origin string       // of the journal, for the request of the next page
}

// EventPage returns the facts that the daemon has recorded by now, oldest first, at most most of
// them. With r.Now it returns only the number of the newest that has happened. It does not repeat
// a request that fails: the page is read whole, or not at all.
func (c *Client) EventPage(ctx context.Context, r messages.Subscribe, most int) (EventPage, error) {
	var p EventPage
	s := stream{client: c, ask: r, past: !r.Now, first: r.Now}
	s.yield = func(e api.Event, _ error) bool {
		p.Events = append(p.Events, e)
		p.More = len(p.Events) >= most || s.bytes >= maxPage
		return !p.More
	}
	if err := s.once(ctx); err != nil && !s.over {
		return EventPage{}, err
	}
	if s.first { // what has happened may not be recorded yet: a stream of the past ends after it
		s.first, s.over, s.past = false, false, true
		s.yield = func(api.Event, error) bool { return true }
		if err := s.once(ctx); err != nil {
			return EventPage{}, err
		}
	}
	p.Next, p.Origin = s.ask.After, s.origin
	if !s.over {
		p.Next = max(p.Next, s.end)
	}
	return p, nil
}
