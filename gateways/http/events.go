package http

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"

	"troupe/gateways/http/wire"
	"troupe/messages"
)

// resumeHeader is what a reader that comes back has seen.
const resumeHeader = "Last-Event-ID"

// events sends facts as they are recorded, as server-sent events: the id is the
// fact's number, and whoever comes back with the last one goes on behind it. A
// reader that is slow is waited for by nobody but its own channel, which reads on
// from the journal; what that no longer holds is an event of its own.
func (c *call) events() error {
	r, err := c.subscribe()
	if err != nil {
		return err
	}
	leave, err := c.door().subscribes()
	if err != nil {
		return err
	}
	defer leave()
	ctx, cancel := c.stream()
	defer cancel()
	sub, err := c.node.Subscribe(ctx, r)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Close() }()
	c.w.Header().Set("Content-Type", "text/event-stream")
	c.w.WriteHeader(http.StatusOK)
	w := eventWriter{call: c, rc: http.NewResponseController(c.w)}
	if err := w.write(fmt.Sprintf("id: %d\n\n", sub.After())); err != nil { // where to go on, should nothing be heard
		return errAnswered
	}
	w.relay(ctx, sub)
	return nil
}

// subscribe is the subscription that the request asks for.
func (c *call) subscribe() (messages.Subscribe, error) {
	var r messages.Subscribe
	after, err := c.number("after", 0, 0, math.MaxInt64)
	if err != nil {
		return r, err
	}
	if r.Filter.Ends, err = c.flag("ends"); err != nil {
		return r, err
	}
	if r.Now, err = c.flag("now"); err != nil {
		return r, err
	}
	if r.Filter.Scope, err = c.scope("scope"); err != nil {
		return r, err
	}
	r.After, r.Filter.Job = messages.Seq(after), messages.JobID(c.text("job"))
	if last := c.r.Header.Get(resumeHeader); last != "" {
		if _, err := fmt.Sscanf(last+"\n", "%d\n", &r.After); err != nil || r.After > math.MaxInt64 {
			return r, messages.Invalid("last_event_id", "Last-Event-ID is no number of an event")
		}
		r.Now = false
	}
	return r, nil
}

// eventWriter writes server-sent events.
type eventWriter struct {
	*call
	rc *http.ResponseController
}

// relay sends what is heard until the reader, the node or the server ends.
func (w eventWriter) relay(ctx context.Context, sub Subscription) {
	for {
		turn, cancel := context.WithTimeout(ctx, heartbeat)
		heard, err := sub.Next(turn)
		cancel()
		switch {
		case err == nil:
			err = w.event(heard)
		case ctx.Err() != nil:
			return
		case errors.Is(err, context.DeadlineExceeded):
			err = w.comment("still here")
		default:
			e := w.coded(err)
			_ = w.send(wire.Event{V: wire.Version, Kind: wire.StreamEnded, Error: e})
			return
		}
		if err != nil {
			return // the reader has gone
		}
	}
}

func (w eventWriter) event(heard any) error {
	switch h := heard.(type) {
	case messages.Notification:
		e, err := wire.NewEvent(h.Seq, h.Fact)
		if err != nil {
			w.log.Error("a fact cannot be told", "error", err)
			return nil
		}
		return w.send(e)
	case messages.FactsDropped:
		return w.send(wire.Event{V: wire.Version, Kind: wire.FactsDropped, From: h.From, Seq: h.To})
	}
	return nil
}

// send writes one event. Without a number it leaves the reader's place as it is.
func (w eventWriter) send(e wire.Event) error {
	b, err := compact(e)
	if err != nil {
		w.log.Error("an event cannot be encoded", "error", err)
		return nil
	}
	id := ""
	if e.Seq > 0 {
		id = fmt.Sprintf("id: %d\n", e.Seq)
	}
	return w.write(fmt.Sprintf("%sevent: %s\ndata: %s\n\n", id, e.Kind, b))
}

func (w eventWriter) comment(text string) error { return w.write(": " + text + "\n\n") }

// write sends at once. A reader that has stopped reading blocks here, which
// holds back nothing but its own channel.
func (w eventWriter) write(text string) error {
	if _, err := w.w.Write([]byte(text)); err != nil {
		return err
	}
	return w.rc.Flush()
}
