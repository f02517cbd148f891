package messages

import (
	"slices"
	"strings"
	"time"
)

// The fact conversation: numbered facts, at least once, in order.
//
//	subscriber --Subscribe--> supervisor
//	subscriber <--Subscribed | RequestRejected-- channel
//	subscriber <--Notification, FactsDropped-- channel   (at most Window unacknowledged)
//	subscriber --Acknowledge--> supervisor --> channel
//	subscriber --Unsubscribe--> supervisor --> channel --Unsubscribed--> subscriber
//
// A channel does not wait for a slow subscriber. It remembers only the last number it
// sent and reads on from the journal. FactsDropped reports what the journal no longer
// holds. Subscribing again with the same channel resumes after the last acknowledged
// number. The former subscriber receives Unsubscribed with the reason ChannelReplaced.

// Subscribe asks for the facts after the number After that pass Filter.
type Subscribe struct {
	quiet
	Channel ChannelID // "": the node makes one
	Resume  bool      // from the last acknowledged number; After is not used
	After   Seq
	Origin  string // of the journal that gave After; "": not known
	Now     bool   // only facts of what happens from now on
	Own     bool   // the host's own channel, outside the limit on channels
	Window  int    // unacknowledged facts in flight; 0: DefaultWindow; at most MaxOutbox
	Filter  Filter
}

// IsOrigin reports whether a text can be an origin in a header: short, without spaces and control
// characters.
func IsOrigin(text string) bool {
	return len(text) <= 64 && !strings.ContainsFunc(text, func(r rune) bool { return r <= ' ' || r > '~' })
}

// Bounds of the window of a channel, in facts.
const (
	DefaultWindow = 64
	MaxOutbox     = 256
)

// Filter selects facts. The zero value selects all.
type Filter struct {
	Scope ScopePath `cbor:"1,keyasint,omitzero"` // and its sub-scopes
	Job   JobID     `cbor:"2,keyasint,omitzero"`
	Ends  bool      `cbor:"3,keyasint,omitzero"` // only CommandFinished: each job has one end
	// Notice selects only CommandFinished of jobs that have this notice; "": no such limit.
	Notice string `cbor:"4,keyasint,omitzero"`
}

// Passes reports whether a filter selects a fact.
func (f Filter) Passes(fact Fact) bool {
	if f.Notice != "" {
		finished, ok := fact.(CommandFinished)
		return ok && slices.ContainsFunc(finished.Job.OnFinish, func(n Notice) bool { return n.To == f.Notice })
	}
	var scope ScopePath
	switch m := fact.(type) {
	case CommandFact:
		return f.passesJob(m)
	case SessionOpened:
		scope = m.Info.Scope
	case SessionReplaced:
		scope = m.Scope
	case SessionClosed:
		scope = m.Scope
	case ScopeOpened:
		scope = m.Path
	case ScopeClosed:
		scope = m.Path
	}
	return f.Job == "" && !f.Ends && (f.Scope == "" || f.Scope.Contains(scope))
}

func (f Filter) passesJob(fact CommandFact) bool {
	job := fact.Record()
	if f.Scope != "" && !f.Scope.Contains(job.Scope) || f.Job != "" && f.Job != job.ID && string(f.Job) != string(job.UID) {
		return false
	}
	_, end := fact.(CommandFinished)
	return end || !f.Ends
}

// Subscribed reports that the channel is open. The first notification has a number above
// After. It comes again, with a lower Newest, when the journal does not take the facts up to Newest.
type Subscribed struct {
	quiet
	Channel ChannelID
	After   Seq
	Newest  Seq    // of the last numbered fact, which the journal may not hold yet
	Origin  string // of the journal: a subscriber that returns sends it with its number; "": it has none
}

// Notification is one fact with its number.
type Notification struct {
	quiet
	Channel ChannelID
	Seq     Seq
	Fact    Fact
	Origin  string // of the journal, for Subscribe; set by a host.Host alone
}

// FactsDropped reports that the facts From to To are no longer held. From above To means
// that the numbers began anew: the journal does not hold those from From on, and the next
// fact follows To.
type FactsDropped struct {
	quiet
	Channel  ChannelID
	From, To Seq
}

// fact makes FactsDropped stand among the facts that a host yields. It is never recorded.
func (FactsDropped) fact() {}

// Acknowledge reports that the subscriber has processed all facts up to Seq. It has no
// answer.
type Acknowledge struct {
	quiet
	Channel ChannelID
	Seq     Seq
}

// Unsubscribe asks for the end of a channel.
type Unsubscribe struct {
	quiet
	Channel ChannelID
}

// Unsubscribed reports that the channel has ended. Nothing follows.
type Unsubscribed struct {
	quiet
	Channel ChannelID
	Reason  string
	Err     *Error // why later facts cannot be read; nil: another reason
}

// ChannelReplaced is the reason of Unsubscribed after another subscriber took the channel.
const ChannelReplaced = "replaced"

// Fact is what the recorder numbers and the channels send: the CommandFacts, and the facts
// of sessions and scopes.
type Fact interface{ fact() }

// recorded is embedded in every Fact.
type recorded struct{ quiet }

func (recorded) fact() {}

// Dated returns a fact with the time at which it was recorded.
func Dated(fact Fact, at time.Time) Fact {
	switch f := fact.(type) {
	case CommandFact:
		job := f.Record()
		job.At = at
		return f.With(job).(Fact)
	case SessionOpened:
		f.At = at
		return f
	case SessionReplaced:
		f.At = at
		return f
	case SessionClosed:
		f.At = at
		return f
	case ScopeOpened:
		f.At = at
		return f
	case ScopeClosed:
		f.At = at
		return f
	}
	return fact
}

// FactRecorded reports that the journal holds a fact under its number.
type FactRecorded struct {
	quiet
	Seq  Seq
	Fact Fact
}

// Refuse implements Refusable.
func (Subscribe) Refuse(e *Error) any   { return RequestRejected{Err: *e} }
func (Unsubscribe) Refuse(e *Error) any { return RequestRejected{Err: *e} }
