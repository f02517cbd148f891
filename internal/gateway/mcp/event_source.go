package mcp

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strconv"
	"strings"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/oklog/ulid/v2"

	"troupe/internal/dialect/core"
	"troupe/internal/gateway/mcp/events"
	"troupe/messages"
)

// jobFinished is the event type that most clients want.
const jobFinished = "job.finished"

// eventKinds are the event types, each with its fact.
var eventKinds = []struct {
	name, about string
	fact        messages.CommandFact
}{
	{jobFinished, "A job has ended: its main process has exited, and its output is complete. Each job has one end.", messages.CommandFinished{}},
	{"job.queued", "A job has been admitted and waits to start.", messages.CommandQueued{}},
	{"job.started", "The main process of a job has started.", messages.CommandStarted{}},
	{"job.promoted", "A job has moved from the foreground to the background.", messages.CommandPromoted{}},
	{"job.stopping", "The stop of a job has begun.", messages.CommandStopping{}},
	{"job.draining", "The main process of a job has exited, and the rest of its output is read.", messages.CommandDraining{}},
	{"job.changed", "A flag, the terminal or the input of a job has changed.", messages.CommandChanged{}},
	{"job.notified", "A notice of the end of a job (on_finish) is delivered or given up.", messages.CommandNotified{}},
	{"job.retired", "No process of a job is left.", messages.CommandRetired{}},
}

// Schemas of all event types. The payload is the record of the job.
const (
	eventInput = `{"type":"object","properties":{"job":{"type":"string","description":"only events of this job: its id, ULID or name; left out: all jobs of the client"}},"additionalProperties":false}`

	eventPayload = `{"type":"object","description":"the record of the job after the event, as the resource job://ID has it","required":["id","uid","scope","command","state","seq"],"properties":{` +
		`"id":{"type":"string"},"uid":{"type":"string","description":"its ULID"},"name":{"type":"string"},"scope":{"type":"string"},"command":{"type":"string"},` +
		`"state":{"type":"string"},"outcome":{"type":["string","null"],"description":"how the job ended"},"exit_code":{"type":["integer","null"]},` +
		`"seq":{"type":"integer","description":"the number of the event: higher ones are later"}}}`
)

// eventSource has the events of a client: the facts of the jobs in its scope.
type eventSource struct{ *client }

// Types implements events.Source.
func (s eventSource) Types() (all []events.Type) {
	for _, k := range eventKinds {
		all = append(all, events.Type{
			Name: k.name, Description: k.about, InputSchema: json.RawMessage(eventInput), PayloadSchema: json.RawMessage(eventPayload),
		})
	}
	return all
}

// Check implements events.Source. It opens the scope of the client: a cursor is a position in
// that scope. A job is named by its ULID from then on: its name can become that of another job.
func (s eventSource) Check(ctx context.Context, r sdk.Request, q events.Query) (events.Query, error) {
	if _, err := parseCursor(q.Cursor); err != nil {
		return q, err
	}
	who := func() *sdk.Implementation { return nil }
	if named, ok := r.(interface{ ClientInfo() *sdk.Implementation }); ok {
		who = named.ClientInfo
	}
	if err := s.enter(ctx, who); err != nil {
		return q, err
	}
	filter, err := s.filter(ctx, q)
	if err == nil && filter.Job != "" {
		q.Arguments, err = json.Marshal(map[string]messages.JobID{"job": filter.Job})
	}
	return q, err
}

// Read implements events.Source.
func (s eventSource) Read(ctx context.Context, q events.Query) (events.Page, error) {
	filter, err := s.filter(ctx, q)
	if err != nil {
		return events.Page{}, err
	}
	from, err := parseCursor(q.Cursor)
	if err != nil {
		return events.Page{}, err
	}
	read, err := s.options.Host.Facts(ctx, messages.Subscribe{After: from.seq, Origin: from.origin, Now: q.Cursor == "", Filter: filter}, q.Max)
	if err != nil {
		return events.Page{}, err
	}
	at := func(seq messages.Seq) string { return cursor{s.scopeName(), seq, read.Origin}.String() }
	if q.Cursor == "" {
		return events.Page{Start: at(read.Next), Next: at(read.Next)}, nil
	}
	page := events.Page{Start: at(from.seq), Truncated: from.scope != s.scopeName(), Next: at(read.Next), More: read.More}
	for _, n := range read.Facts {
		if gap, ok := n.Fact.(messages.FactsDropped); ok {
			if len(page.Events) > 0 { // the next page begins with it
				page.Next, page.More = page.Events[len(page.Events)-1].Cursor, true
				return page, nil
			}
			page.Start, page.Truncated = at(gap.To), true
			continue
		}
		if e, ok := s.event(n, q.Type); ok {
			e.Cursor = at(n.Seq)
			page.Events = append(page.Events, e)
		}
	}
	return page, nil
}

// event returns a fact as an event without its cursor, if it is of that type.
func (s eventSource) event(n messages.Notification, name string) (events.Event, bool) {
	fact, ok := n.Fact.(messages.CommandFact)
	if !ok {
		return events.Event{}, false
	}
	for _, k := range eventKinds {
		if k.name == name && reflect.TypeOf(k.fact) == reflect.TypeOf(n.Fact) {
			job := fact.Record()
			job.Seq = n.Seq
			return events.Event{ID: fmt.Sprintf("%s.%d", job.UID, n.Seq), At: job.At, Data: job}, true
		}
	}
	return events.Event{}, false
}

// Watch implements events.Source.
func (s eventSource) Watch() (changed <-chan struct{}, stop func()) {
	c := make(chan struct{}, 1)
	s.mu.Lock()
	s.watchers[c] = true
	s.mu.Unlock()
	return c, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.watchers, c)
	}
}

// Follow implements events.Source. A request brings back a host that was away; to listen does
// not.
func (s eventSource) Follow(ctx context.Context, q events.Query) error {
	full := q.Type != jobFinished
	err := s.listen(ctx, full)
	if err == nil || ctx.Err() != nil {
		return err
	}
	if _, err := s.options.Host.Facts(ctx, messages.Subscribe{Now: true}, 1); err != nil {
		return err
	}
	return s.listen(ctx, full)
}

// wake informs the open streams of a client about a new fact.
func (c *client) wake() {
	c.mu.Lock()
	defer c.mu.Unlock()
	for w := range c.watchers {
		select {
		case w <- struct{}{}:
		default: // it has not read the last one
		}
	}
}

// filter returns the facts that a query asks for.
func (s eventSource) filter(ctx context.Context, q events.Query) (messages.Filter, error) {
	f := messages.Filter{Scope: s.scope, Ends: q.Type == jobFinished}
	var args map[string]json.RawMessage
	if q.Arguments != nil && json.Unmarshal(q.Arguments, &args) != nil {
		return f, events.InvalidParams("arguments must be an object")
	}
	for name := range args {
		if name != "job" {
			return f, events.InvalidParams(fmt.Sprintf("unknown argument %.64q; the only one is job", name))
		}
	}
	var id *string
	if args["job"] != nil && json.Unmarshal(args["job"], &id) != nil {
		return f, events.InvalidParams("job must be a string")
	}
	if id == nil {
		return f, nil
	}
	job, err := s.own(ctx, *id)
	switch {
	case err == nil:
		f.Job = messages.JobID(job.UID)
	case isCode(err, messages.NotFound) && isULID(*id):
		f.Job = messages.JobID(*id) // a removed job has events, too
	case isCode(err, messages.NotFound), isCode(err, messages.InvalidParams):
		return f, events.NotFound("job", fmt.Sprintf("there is no job %s of this client", core.Preview(*id)))
	default:
		return f, err
	}
	return f, nil
}

func isULID(s string) bool {
	_, err := ulid.ParseStrict(s)
	return err == nil
}

// scopeName returns the last name of the client's scope.
func (s eventSource) scopeName() string {
	all := strings.Split(string(s.scope), "/")
	return all[len(all)-1]
}

// cursor is the position after a number. It names the scope, so that a cursor from another one,
// whose events the client does not see, is known.
type cursor struct {
	scope  string
	seq    messages.Seq
	origin string // of the journal that gave the number; "": it has none
}

// String returns the text that a client keeps.
func (c cursor) String() string {
	text := c.scope + ":" + strconv.FormatUint(uint64(c.seq), 10)
	if c.origin != "" {
		text += ":" + c.origin
	}
	return text
}

// parseCursor returns the cursor of a text, the zero value for "".
func parseCursor(text string) (c cursor, err error) {
	if text == "" {
		return c, nil
	}
	scope, rest, found := strings.Cut(text, ":")
	number, origin, _ := strings.Cut(rest, ":")
	n, failed := strconv.ParseInt(number, 10, 64)
	if !found || scope == "" || failed != nil || n < 0 || !messages.IsOrigin(origin) {
		return c, events.InvalidParams(fmt.Sprintf("invalid cursor %.64q: use one from a result, or null to begin now", text))
	}
	return cursor{scope, messages.Seq(n), origin}, nil
}
