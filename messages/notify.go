package messages

import "slices"

// The notice conversation: facts with numbers, at least once, in order.
//
//	subscriber --Subscribe--> supervisor
//	subscriber <--Subscribed | RequestRejected-- channel
//	subscriber <--Notification, FactsDropped-- channel   (at most Window unacknowledged)
//	subscriber --Acknowledge--> supervisor --> channel
//	subscriber --Unsubscribe--> supervisor --> channel --Unsubscribed--> subscriber
//
// A subscriber that is slow is not waited for: its channel remembers only how
// far it came and reads on from the journal. What the journal no longer holds
// is said as FactsDropped, never left out in silence. Subscribing again with
// the same channel resumes after the last acknowledged number; whoever has it
// until then is told Unsubscribed, with the reason ChannelReplaced.

// Subscribe asks for the facts after After that Filter lets through.
type Subscribe struct {
	quiet
	Channel ChannelID // "": a new one is made
	Resume  bool      // after the last acknowledged number, whatever After says
	After   Seq
	Now     bool // only what is recorded from now on
	Own     bool // of the host of the node: none of those that there may be
	Window  int  // 0: DefaultWindow; at most MaxOutbox
	Filter  Filter
}

// Bounds of a channel: a slow subscriber reads on from the journal instead of filling memory.
const (
	DefaultWindow = 64
	MaxOutbox     = 256
)

// Filter lets facts through. The zero value lets all.
type Filter struct {
	Scope ScopePath // and its sub-scopes
	Job   JobID
	Ends  bool // only CommandFinished and CommandRetired
	// Notice lets through only CommandFinished of jobs whose end is told to it.
	Notice string
}

// Passes reports whether a filter lets a fact through.
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
	switch fact.(type) {
	case CommandFinished, CommandRetired:
		return true
	}
	return !f.Ends
}

// Subscribed reports that the channel is open; the first notification will
// have a number above After.
type Subscribed struct {
	quiet
	Channel ChannelID
	After   Seq
	Newest  Seq // of the facts that have a number; the last of them may be on their way to the journal
}

// Notification is one fact with its number.
type Notification struct {
	quiet
	Channel ChannelID
	Seq     Seq
	Fact    Fact
}

// FactsDropped reports that the facts numbered From to To are no longer held. With a
// From above To the numbers have begun anew: those from From on are not the journal's,
// and what it holds follows behind To.
type FactsDropped struct {
	quiet
	Channel  ChannelID
	From, To Seq
}

// Acknowledge reports that the subscriber has dealt with all facts up to Seq.
// It is not answered.
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

// Unsubscribed reports that the channel is gone. Nothing follows.
type Unsubscribed struct {
	quiet
	Channel ChannelID
	Reason  string
}

// ChannelReplaced is the reason of an Unsubscribed whose channel another subscriber
// has taken over.
const ChannelReplaced = "replaced"

// Fact is what the recorder numbers and the channels tell: the CommandFacts,
// and those of sessions and scopes.
type Fact interface{ fact() }

func (CommandQueued) fact()   {}
func (CommandStarted) fact()  {}
func (CommandPromoted) fact() {}
func (CommandStopping) fact() {}
func (CommandDraining) fact() {}
func (CommandFinished) fact() {}
func (CommandRetired) fact()  {}
func (CommandChanged) fact()  {}
func (CommandNotified) fact() {}
func (SessionOpened) fact()   {}
func (SessionReplaced) fact() {}
func (SessionClosed) fact()   {}
func (ScopeOpened) fact()     {}
func (ScopeClosed) fact()     {}

// FactRecorded reports that the journal holds a fact under its number.
type FactRecorded struct {
	quiet
	Seq  Seq
	Fact Fact
}

// NotifyReply is what a subscriber may receive in answer to Subscribe and
// Unsubscribe.
type NotifyReply interface{ notifyReply() }

func (Subscribed) notifyReply()      {}
func (Unsubscribed) notifyReply()    {}
func (RequestRejected) notifyReply() {}

// Refuse implements Refusable.
func (Subscribe) Refuse(e *Error) any   { return RequestRejected{Err: *e} }
func (Unsubscribe) Refuse(e *Error) any { return RequestRejected{Err: *e} }
