package client

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"troupe/internal/api"
	"troupe/messages"
)

// Bounds of a stream of events.
const (
	maxEvent   = 64 << 20              // bytes of one event; a record contains the text of its command
	retryFirst = 50 * time.Millisecond // first wait before a reconnect
	retryMost  = 2 * time.Second       // longest wait between two tries
	retryFor   = 30 * time.Second      // total time of tries
)

// Events yields the facts of the daemon with their numbers, each once and in order. After a
// broken connection, or an orderly end of the daemon, it connects again and continues after
// the last event. An event of the kind facts_dropped reports facts that are no longer held,
// or numbers that begin anew. The sequence ends with an error when ctx ends, and when the
// daemon refuses or stays away for half a minute.
func (c *Client) Events(ctx context.Context, r messages.Subscribe) iter.Seq2[api.Event, error] {
	return stream{client: c, ask: r}.events(ctx)
}

// NewEvents yields the facts from now on, as Events does. It calls begun once, when no later
// fact can be missed.
func (c *Client) NewEvents(ctx context.Context, filter messages.Filter, begun func()) iter.Seq2[api.Event, error] {
	return stream{client: c, ask: messages.Subscribe{Filter: filter, Now: true}, begun: begun}.events(ctx)
}

// PastEvents yields the facts that the daemon has recorded by now, as Events does. It ends
// without an error after the last of them.
func (c *Client) PastEvents(ctx context.Context, r messages.Subscribe) iter.Seq2[api.Event, error] {
	return stream{client: c, ask: r, past: true}.events(ctx)
}

// stream is one loop over events.
type stream struct {
	client *Client
	ask    messages.Subscribe
	past   bool // ends after the facts recorded by now
	begun  func()
	yield  func(api.Event, error) bool
	first  bool         // only the number at which the stream begins is wanted
	over   bool         // the loop was left
	heard  bool         // an event arrived since the last connect
	resume bool         // continue after ask.After
	origin string       // of the journal of this connection
	end    messages.Seq // of the last event of a stream of the past; 0: an older daemon
	bytes  int          // of the events read
}

// events returns the sequence. Each loop over it begins anew.
func (s stream) events(ctx context.Context) iter.Seq2[api.Event, error] {
	return func(yield func(api.Event, error) bool) {
		one := s
		one.yield = yield
		if err := one.run(ctx); err != nil && !one.over {
			yield(api.Event{}, err)
		}
	}
}

var errLeft = errors.New("the loop was left")

func (s *stream) run(ctx context.Context) error {
	wait, since := retryFirst, time.Now()
	for {
		err := s.once(ctx)
		switch {
		case err == nil:
			return nil
		case s.over:
			return errLeft
		case ctx.Err() != nil:
			return ctx.Err()
		case isFinal(err), s.client.single && !s.resume && !s.heard:
			return err // a retry would fail again, or the caller looks for the daemon itself
		}
		if s.heard {
			wait, since, s.heard = retryFirst, time.Now(), false
		}
		if time.Since(since) > retryFor {
			return fmt.Errorf("the daemon does not come back: %w", err)
		}
		select {
		case <-time.After(wait):
			wait = min(2*wait, retryMost)
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// isFinal reports whether the daemon has refused. A daemon that shuts down has not: another
// may start, as after a crash.
func isFinal(err error) bool {
	var coded *messages.Error
	return errors.As(err, &coded) && coded.Code != messages.ShuttingDown
}

// once reads one connection to its end.
func (s *stream) once(ctx context.Context) error {
	query := url.Values{}
	for name, value := range map[string]string{"scope": string(s.ask.Filter.Scope), "job": string(s.ask.Filter.Job)} {
		if value != "" {
			query.Set(name, value)
		}
	}
	for name, on := range map[string]bool{"ends": s.ask.Filter.Ends, "now": s.ask.Now, "past": s.past} {
		if on {
			query.Set(name, "true")
		}
	}
	r, err := s.client.request(ctx, http.MethodGet, "/v1/events", query, nil)
	if err != nil {
		return err
	}
	if s.resume || s.ask.After > 0 {
		r.Header.Set("Last-Event-ID", strconv.FormatUint(uint64(s.ask.After), 10))
		if s.ask.Origin != "" {
			r.Header.Set(api.OriginHeader, s.ask.Origin)
		}
	}
	reply, err := s.client.do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	s.origin = reply.Header.Get(api.OriginHeader)
	return s.read(reply.Body)
}

// read reads the events of one connection.
func (s *stream) read(from io.Reader) error {
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, maxEvent)
	for lines.Scan() {
		if id, ok := strings.CutPrefix(lines.Text(), "id: "); ok {
			s.heard = true
			if err := s.begins(id); err != nil {
				return err
			}
			continue
		}
		data, ok := strings.CutPrefix(lines.Text(), "data: ")
		if !ok {
			continue // the data contains the event's id and name; a comment is a heartbeat
		}
		var e api.Event
		if err := messages.UnmarshalReply([]byte(data), &e); err != nil {
			return &messages.Error{Code: messages.Internal, Reason: "event", Message: "cannot decode an event: " + err.Error(), Hint: "update troupe, or this client of it"}
		}
		if e.Kind == api.StreamEnded {
			if e.Error == nil {
				s.end = e.Seq
				return nil
			}
			return e.Error
		}
		s.bytes += len(data)
		s.heard = true
		if anew := e.Kind == api.FactsDropped && e.Seq < e.From; e.Seq <= s.ask.After && !anew {
			continue // received before the connection broke
		}
		e.Origin = s.origin
		s.ask.After, s.ask.Origin = e.Seq, s.origin
		if !s.yield(e, nil) {
			s.over = true
			return errLeft
		}
	}
	if err := lines.Err(); err != nil {
		return err
	}
	return io.ErrUnexpectedEOF
}

// begins sets the start of the stream from the first number.
func (s *stream) begins(id string) error {
	if s.resume {
		return nil
	}
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return fmt.Errorf("cannot parse the number of an event: %w", err)
	}
	s.ask.After, s.ask.Origin, s.ask.Now, s.resume = messages.Seq(n), s.origin, false, true
	if s.begun != nil {
		s.begun()
	}
	if s.first {
		s.over = true
		return errLeft
	}
	return nil
}
