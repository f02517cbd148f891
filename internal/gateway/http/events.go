package http

import (
	"context"
	"errors"
	"fmt"
	"math"
	"net/http"
	"strings"

	"github.com/oklog/ulid/v2"

	"troupe/internal/api"
	"troupe/messages"
)

// resumeHeader carries the number of the last event that a returning reader received.
const resumeHeader = "Last-Event-ID"

// events sends facts as server-sent events as they are recorded. The id of an event is
// the fact's number; a reader that returns with it continues after it. A slow reader
// delays only its own subscription, which reads on from the journal. Facts that the
// journal no longer holds are reported as an event.
//
// With past, the stream ends after the facts that were recorded when it began. The last
// event has the number after which to go on, also if the filter has passed no fact.
func (c *request) events() error {
	r, err := c.subscribe()
	if err != nil {
		return err
	}
	past, err := c.query.Flag("past")
	if err != nil {
		return err
	}
	if past && c.query.Text("now") == "true" {
		return messages.Invalid("past", "past and now exclude each other; use one of them")
	}
	c.subscriptions.Add(1)
	defer c.subscriptions.Add(-1)
	ctx, cancel := c.stream()
	defer cancel()
	w := eventWriter{request: c, rc: http.NewResponseController(c.w), filter: r.Filter}
	if past {
		r.Filter = messages.Filter{} // filtered out facts would hide that the last one has passed
	}
	sub, err := c.node.Subscribe(ctx, r)
	if err != nil {
		return err
	}
	defer func() { _ = sub.Close() }()
	c.w.Header().Set("Content-Type", "text/event-stream")
	if origin := sub.Origin(); origin != "" {
		c.w.Header().Set(api.OriginHeader, origin)
	}
	c.w.WriteHeader(http.StatusOK)
	if err := w.write(fmt.Sprintf("id: %d\n\n", sub.After())); err != nil { // where to resume if no event follows
		return errAnswered
	}
	if past {
		w.last = sub.Newest()
	}
	if past && sub.After() >= w.last {
		if r.After > sub.After() { // the journal is newer than the reader's and still empty
			_ = w.send(dropped(r.After+1, sub.After()))
		}
		_ = w.send(api.Event{Kind: api.StreamEnded, Seq: sub.After()})
		return nil
	}
	w.relay(ctx, sub)
	return nil
}

// subscribe returns the subscription that the request describes.
func (c *request) subscribe() (messages.Subscribe, error) {
	var r messages.Subscribe
	after, err := c.query.Number("after", 0, 0, math.MaxInt64)
	if err != nil {
		return r, err
	}
	if r.Filter.Ends, err = c.query.Flag("ends"); err != nil {
		return r, err
	}
	if r.Now, err = c.query.Flag("now"); err != nil {
		return r, err
	}
	var refusal *messages.Error
	if r.Filter.Scope, refusal = c.scope(messages.ScopePath(c.query.Text("scope"))); refusal != nil {
		return r, refusal
	}
	r.After, r.Origin = messages.Seq(after), c.r.Header.Get(api.OriginHeader)
	if r.Filter.Job, err = c.resolveFilter(messages.JobID(c.query.Text("job"))); err != nil {
		return r, err
	}
	if last := c.r.Header.Get(resumeHeader); last != "" {
		if _, err := fmt.Sscanf(last+"\n", "%d\n", &r.After); err != nil || r.After > math.MaxInt64 {
			return r, messages.Invalid("last_event_id", fmt.Sprintf("invalid Last-Event-ID %.64q: use the number of an event", last))
		}
		r.Now = false
	}
	return r, nil
}

// resolveFilter returns the ULID of the job that a filter names: a name may belong to
// another job later. An unknown id stays as it is: the journal may have facts of it, or
// the job may come later. An unknown name is an error.
func (c *request) resolveFilter(job messages.JobID) (messages.JobID, error) {
	if job == "" {
		return "", nil
	}
	found, err := c.node.Job(c.ctx, c.job(job))
	switch {
	case err == nil:
		return messages.JobID(found.UID), nil
	case errors.Is(err, &messages.Error{Code: messages.NotFound}) && isID(string(job)):
		return job, nil
	}
	return "", err
}

// isID reports whether job is a short id or a ULID, which always mean the same job.
func isID(job string) bool {
	if _, err := ulid.ParseStrict(job); err == nil {
		return true
	}
	return strings.TrimRight(job, "0123456789") == "j" && job != "j"
}

// eventWriter writes server-sent events.
type eventWriter struct {
	*request
	rc     *http.ResponseController
	filter messages.Filter
	last   messages.Seq // the stream ends after this fact; 0: it does not end
}

// relay sends facts until the reader, the node or the server ends.
func (w eventWriter) relay(ctx context.Context, sub Subscription) {
	seen := sub.After()
	for {
		turn, cancel := context.WithTimeout(ctx, heartbeat)
		heard, err := sub.Next(turn)
		cancel()
		switch {
		case err == nil:
			var over bool
			switch h := heard.(type) {
			case messages.Notification:
				seen = h.Seq
			case messages.FactsDropped:
				seen = h.To
			case messages.Subscribed: // the journal takes no facts now
				if w.last > 0 {
					w.last, over = h.Newest, seen >= h.Newest
				}
			}
			if !over {
				over, err = w.event(heard)
			}
			if over && err == nil {
				_ = w.send(api.Event{Kind: api.StreamEnded, Seq: w.last})
				return
			}
		case ctx.Err() != nil:
			return
		case errors.Is(err, context.DeadlineExceeded):
			err = w.comment("still here")
		default:
			e := w.coded(err)
			_ = w.send(api.Event{Kind: api.StreamEnded, Error: e})
			return
		}
		if err != nil {
			return // the reader has disconnected
		}
	}
}

// event sends one notification. It reports whether it was the last one of the stream.
func (w eventWriter) event(heard any) (over bool, err error) {
	switch h := heard.(type) {
	case messages.Notification:
		if w.past(h.Seq) || !w.filter.Passes(h.Fact) {
			return w.ends(h.Seq), nil
		}
		e, err := api.NewEvent(h.Seq, h.Fact)
		if err != nil {
			w.log.Error("cannot encode a fact", "error", err)
			return w.ends(h.Seq), nil
		}
		return w.ends(h.Seq), w.send(e)
	case messages.FactsDropped:
		return w.ends(h.To), w.send(dropped(h.From, h.To))
	}
	return false, nil
}

func dropped(from, to messages.Seq) api.Event {
	return api.Event{Kind: api.FactsDropped, From: from, Seq: to}
}

func (w eventWriter) past(seq messages.Seq) bool { return w.last > 0 && seq > w.last }

func (w eventWriter) ends(seq messages.Seq) bool { return w.last > 0 && seq >= w.last }

// send writes one event. An event without a number leaves the reader's position as it
// is.
func (w eventWriter) send(e api.Event) error {
	b, err := compact(e)
	if err != nil {
		w.log.Error("cannot encode an event", "error", err)
		return nil
	}
	id := ""
	if e.Seq > 0 {
		id = fmt.Sprintf("id: %d\n", e.Seq)
	}
	return w.write(fmt.Sprintf("%sevent: %s\ndata: %s\n\n", id, e.Kind, b))
}

func (w eventWriter) comment(text string) error { return w.write(": " + text + "\n\n") }

// write sends text at once. A reader that does not read blocks only its own
// subscription.
func (w eventWriter) write(text string) error {
	if _, err := w.w.Write([]byte(text)); err != nil {
		return err
	}
	return w.rc.Flush()
}
