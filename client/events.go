package client

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// Bounds of a stream of events.
const (
	maxEvent   = 64 << 20 // bytes of one: a record holds the text of its command
	retryFirst = 50 * time.Millisecond
	retryMost  = 2 * time.Second // between two tries to come back
	retryFor   = 30 * time.Second
)

// Events are the facts of the daemon, with their numbers, each once and in order.
// A connection that breaks, or that a daemon ends in order, is made again, and goes
// on behind the last event; facts that are no longer held then, and numbers that begin
// anew, are told as an event of the kind facts_dropped. It ends with the loop, or with
// an error when ctx ends or the daemon was not there, refuses, or does not come back
// within half a minute.
func (c *Client) Events(ctx context.Context, r messages.Subscribe) iter.Seq2[wire.Event, error] {
	return stream{client: c, ask: r}.events(ctx)
}

// NewEvents are the facts from now on, as Events tells them; begun is called once, when
// none that follows can be missed any more.
func (c *Client) NewEvents(ctx context.Context, filter messages.Filter, begun func()) iter.Seq2[wire.Event, error] {
	return stream{client: c, ask: messages.Subscribe{Filter: filter, Now: true}, begun: begun}.events(ctx)
}

// PastEvents are the facts that the daemon has recorded by now, as Events tells
// them, and no more: it ends without an error behind the last of them.
func (c *Client) PastEvents(ctx context.Context, r messages.Subscribe) iter.Seq2[wire.Event, error] {
	return stream{client: c, ask: r, past: true}.events(ctx)
}

// stream is one loop over events.
type stream struct {
	client *Client
	ask    messages.Subscribe
	past   bool // it ends behind what there is
	begun  func()
	yield  func(wire.Event, error) bool
	over   bool // the loop was left
	heard  bool // something since the last connection was made
	resume bool // behind ask.After
}

// events are those that the stream tells. Each loop over them begins anew.
func (s stream) events(ctx context.Context) iter.Seq2[wire.Event, error] {
	return func(yield func(wire.Event, error) bool) {
		one := s
		one.yield = yield
		if err := one.run(ctx); err != nil && !one.over {
			yield(wire.Event{}, err)
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
		case isFinal(err), !s.resume && !s.heard:
			return err // it will be the same again, or there never was a stream
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

// isFinal reports whether the daemon has refused. One that says that it shuts down has
// not: another may come, as behind one that died.
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
	}
	reply, err := s.client.do(r)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	return s.read(reply.Body)
}

// read takes the events of one connection.
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
			continue // its id and name are in the data; a comment says that all is well
		}
		var e wire.Event
		if err := json.Unmarshal([]byte(data), &e); err != nil {
			return fmt.Errorf("an event cannot be read: %w", err)
		}
		if e.Kind == wire.StreamEnded {
			if e.Error == nil {
				return nil
			}
			return e.Error
		}
		s.heard = true
		if anew := e.Kind == wire.FactsDropped && e.Seq < e.From; e.Seq <= s.ask.After && !anew {
			continue // told before the connection broke
		}
		s.ask.After = e.Seq
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

// begins takes where the stream begins, which the first number of all says.
func (s *stream) begins(id string) error {
	if s.resume {
		return nil
	}
	n, err := strconv.ParseUint(id, 10, 64)
	if err != nil {
		return fmt.Errorf("the number of an event cannot be read: %w", err)
	}
	s.ask.After, s.ask.Now, s.resume = messages.Seq(n), false, true
	if s.begun != nil {
		s.begun()
	}
	return nil
}
