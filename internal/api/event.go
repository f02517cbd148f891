package api

import (
	"fmt"
	"reflect"
	"time"

	"troupe/messages"
)

// Event is one event of GET /v1/events: a fact with its number. Kind decides which
// other fields are set.
type Event struct {
	V       messages.Version `json:"v"`
	Seq     messages.Seq     `json:"seq"`
	Kind    string           `json:"event"`
	At      time.Time        `json:"at,omitzero"`
	Job     *messages.Record `json:"job,omitempty"`
	Session *SessionEvent    `json:"session,omitempty"`
	Scope   *ScopeEvent      `json:"scope,omitempty"`
	From    messages.Seq     `json:"from,omitzero"` // of FactsDropped: the first number that is no longer held
	Error   *messages.Error  `json:"error,omitempty"`
	Origin  string           `json:"-"` // of the journal, from OriginHeader of the reply
}

// Kinds of events about jobs that a reader tells from others.
const (
	CommandPromoted = "command_promoted"
	CommandNotified = "command_notified"
	CommandChanged  = "command_changed"
)

// Kinds of events that are not about jobs.
const (
	SessionOpened   = "session_opened"
	SessionReplaced = "session_replaced"
	SessionClosed   = "session_closed"
	ScopeOpened     = "scope_opened"
	ScopeClosed     = "scope_closed"
	FactsDropped    = "facts_dropped" // the facts From to Seq are no longer held; if From is above Seq, numbering restarts after Seq
	StreamEnded     = "stream_ended"  // nothing follows; Error: why the stream ended early
)

// SessionEvent is an event of a session.
type SessionEvent struct {
	Scope     messages.ScopePath    `json:"scope"`
	Session   messages.SessionID    `json:"session"`
	Info      *messages.SessionInfo `json:"info,omitempty"`
	Dir       string                `json:"cwd,omitempty"`
	Lost      string                `json:"lost,omitempty"`
	Reason    string                `json:"reason,omitempty"`
	By        messages.Party        `json:"by,omitempty"`
	Survivors []messages.Survivor   `json:"survivors,omitempty"`
}

// ScopeEvent is an event of a scope.
type ScopeEvent struct {
	Path      messages.ScopePath  `json:"path"`
	Reason    string              `json:"reason,omitempty"`
	Jobs      []messages.JobID    `json:"jobs,omitempty"`
	Survivors []messages.Survivor `json:"survivors,omitempty"`
}

// commandKinds are the kinds of facts about jobs, in the order of a job's life.
var commandKinds = []struct {
	kind string
	fact messages.CommandFact
}{
	{"command_queued", messages.CommandQueued{}},
	{"command_started", messages.CommandStarted{}},
	{CommandPromoted, messages.CommandPromoted{}},
	{"command_stopping", messages.CommandStopping{}},
	{"command_draining", messages.CommandDraining{}},
	{"command_finished", messages.CommandFinished{}},
	{"command_retired", messages.CommandRetired{}},
	{CommandChanged, messages.CommandChanged{}},
	{CommandNotified, messages.CommandNotified{}},
}

// eventKinds returns the kinds of all events.
func eventKinds() (all []string) {
	for _, c := range commandKinds {
		all = append(all, c.kind)
	}
	return append(all, otherKinds...)
}

// otherKinds are the kinds of events that are not about jobs.
var otherKinds = []string{SessionOpened, SessionReplaced, SessionClosed, ScopeOpened, ScopeClosed, FactsDropped, StreamEnded}

// NewEvent returns the event of a fact.
func NewEvent(seq messages.Seq, fact messages.Fact) (Event, error) {
	e := Event{Seq: seq}
	switch f := fact.(type) {
	case messages.CommandFact:
		e.Job = new(f.Record())
		e.At = e.Job.At
		for _, c := range commandKinds {
			if reflect.TypeOf(c.fact) == reflect.TypeOf(fact) {
				e.Kind = c.kind
			}
		}
	case messages.SessionOpened:
		e.At, e.Kind, e.Session = f.At, SessionOpened, &SessionEvent{Scope: f.Info.Scope, Session: f.Info.Session, Info: &f.Info}
	case messages.SessionReplaced:
		e.At, e.Kind, e.Session = f.At, SessionReplaced, &SessionEvent{Scope: f.Scope, Session: f.Session, Dir: f.Dir, Lost: f.Lost}
	case messages.SessionClosed:
		e.At, e.Kind, e.Session = f.At, SessionClosed, &SessionEvent{Scope: f.Scope, Session: f.Session, Reason: f.Reason, By: f.By, Survivors: f.Survivors}
	case messages.ScopeOpened:
		e.At, e.Kind, e.Scope = f.At, ScopeOpened, &ScopeEvent{Path: f.Path}
	case messages.ScopeClosed:
		e.At, e.Kind, e.Scope = f.At, ScopeClosed, &ScopeEvent{Path: f.Path, Reason: f.Reason, Jobs: f.Jobs, Survivors: f.Survivors}
	}
	if e.Kind == "" {
		return e, fmt.Errorf("no event for a fact of type %T", fact)
	}
	return e, nil
}

// Fact returns the fact of an event, nil if the event has none.
func (e Event) Fact() messages.Fact { return messages.Dated(e.undated(), e.At) }

func (e Event) undated() messages.Fact {
	for _, c := range commandKinds {
		if c.kind != e.Kind || e.Job == nil {
			continue
		}
		if f, ok := c.fact.With(*e.Job).(messages.Fact); ok {
			return f
		}
	}
	s, c := e.Session, e.Scope
	switch {
	case e.Kind == SessionOpened && s != nil && s.Info != nil:
		return messages.SessionOpened{Info: *s.Info}
	case e.Kind == SessionReplaced && s != nil:
		return messages.SessionReplaced{Scope: s.Scope, Session: s.Session, Dir: s.Dir, Lost: s.Lost}
	case e.Kind == SessionClosed && s != nil:
		return messages.SessionClosed{Scope: s.Scope, Session: s.Session, Reason: s.Reason, By: s.By, Survivors: s.Survivors}
	case e.Kind == ScopeOpened && c != nil:
		return messages.ScopeOpened{Path: c.Path}
	case e.Kind == FactsDropped:
		return messages.FactsDropped{From: e.From, To: e.Seq}
	case e.Kind == ScopeClosed && c != nil:
		return messages.ScopeClosed{Path: c.Path, Reason: c.Reason, Jobs: c.Jobs, Survivors: c.Survivors}
	}
	return nil
}
