// Package lifecycle decides what happens to commands, sessions, admissions and
// waits; it performs nothing. The same state, the same event and the same time
// give the same answer: no clock, no I/O, no goroutine, no actor library.
//
// Each machine is a value with a Step: it takes the time and an event, and
// returns its next state and the effects that its actor must now perform, in
// order. Events are messages, or the types of this package; an event that means
// nothing in a phase changes nothing.
package lifecycle

import (
	"cmp"
	"time"

	"troupe/messages"
)

// ReplyID stands for a client that waits for an answer; the actor knows who it
// is. 0 is nobody.
type ReplyID int64

// Timer names a deadline of a command.
type Timer uint8

// The timers of a command.
const (
	Budget   Timer = iota // of the foreground, from submission
	Deadline              // of the job, from its leaving the queue
	timers
)

// Events of a command beside the process facts.
type (
	// Placed says that an actor stands around the job: a new one, or one whose
	// former actor died. Timers are armed with what is left of them.
	Placed struct{}
	// Granted says that the job may start.
	Granted struct{}
	// Asked is a control request of the client By.
	Asked struct {
		By      ReplyID
		Request any
	}
	// Expired says that a timer ran out. Other generations than the last armed
	// one are stale.
	Expired struct {
		Timer Timer
		Gen   int
	}
	// Recorded says that the journal holds the job's result, or its last word. That
	// of the result may come when the last word has been told, and is not its. Unwritten:
	// the journal does not have it, and is not waited for.
	Recorded struct{ Retired, Unwritten bool }
	// Forgotten says that the engine no longer knows the job and nothing of it
	// is left.
	Forgotten struct{ Err messages.Error }
)

// Effect is what the actor of a command must do.
//
//sumtype:decl
type Effect interface{ effect() }

// The effects of a command.
type (
	// Arm asks for Expired{Timer, Gen} after After; it replaces what was armed.
	Arm struct {
		Timer Timer
		After time.Duration
		Gen   int
	}
	// Disarm ends a timer.
	Disarm struct{ Timer Timer }
	// Start asks the shell to start the job, with what is left of its deadline.
	Start struct{ Deadline time.Duration }
	// Do asks the process for what Request says; it answers by a fact with the number Nth.
	Do struct {
		Request any
		Nth     uint64
	}
	// Stop asks the engine to end the tree.
	Stop struct {
		Cause messages.Cause
		Grace time.Duration
	}
	// Tell sends a fact about the job to the session; what it is a fact of is Job, the
	// record as it stands now, which nobody changes. Last says that the last word is due
	// together with the end: a CommandRetired over the same record, which is Retired then.
	Tell struct {
		Fact messages.CommandFact // its own record is empty
		Job  *messages.Job
		Last bool
	}
	// Reply answers a client.
	Reply struct {
		To    ReplyID
		Reply messages.ControlReply
	}
	// Settle tells the engine that it may forget the facts up to Seq.
	Settle struct{ Seq uint64 }
	// Keep leaves the facts up to Seq with the engine: no journal has them.
	Keep struct{ Seq uint64 }
	// Retire says that the job is over and the actor is needed no more.
	Retire struct{}
)

func (Arm) effect()    {}
func (Disarm) effect() {}
func (Start) effect()  {}
func (Do) effect()     {}
func (Stop) effect()   {}
func (Tell) effect()   {}
func (Reply) effect()  {}
func (Settle) effect() {}
func (Keep) effect()   {}
func (Retire) effect() {}

// Limits are what a command was promised and what it may use.
type Limits struct {
	Background   bool          // answer when it has started
	PromoteAfter time.Duration // 0: none
	Timeout      time.Duration // 0: none
	Grace        time.Duration // 0: messages.DefaultGrace, negative: none
}

// grace is the time from TERM to KILL: asked, or the job's own.
func (l Limits) grace(asked time.Duration) time.Duration {
	return Grace(cmp.Or(asked, l.Grace))
}

// Grace is a time from TERM to KILL: asked, or the default; negative is none.
func Grace(asked time.Duration) time.Duration {
	return max(cmp.Or(asked, messages.DefaultGrace), 0)
}
