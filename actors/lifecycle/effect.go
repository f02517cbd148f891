package lifecycle

import (
	"cmp"
	"time"

	"troupe/messages"
)

// ReplyID identifies a client that waits for an answer. 0 is no client.
type ReplyID int64

// Timer names a deadline of a command.
type Timer uint8

// The timers of a command.
const (
	Budget   Timer = iota // the foreground budget, from submission
	Deadline              // of the job, from the end of its time in the queue
	timers
)

// Events of a command beside the process facts.
type (
	// Placed says that the job has an actor: its first, or a new one after a crash.
	Placed struct{}
	// Granted says that the job may start.
	Granted struct{}
	// NeverStarts says that what the job waits for cannot come true.
	NeverStarts struct{ Err messages.Error }
	// Asked is a control request of the client By.
	Asked struct {
		By      ReplyID
		Request any
	}
	// Expired says that a timer has elapsed. Only the generation armed last counts.
	Expired struct {
		Timer Timer
		Gen   int
	}
	// Recorded says that the journal has the job's result, or with Retired its last fact.
	// Unwritten says that the journal does not have it and is not waited for.
	Recorded struct{ Retired, Unwritten bool }
	// Forgotten says that the engine does not know the job and no process of it is left.
	Forgotten struct{ Err messages.Error }
)

// Effect is what the actor of a command must do.
//
//sumtype:decl
type Effect interface{ effect() }

// The effects of a command.
type (
	// Arm requests Expired{Timer, Gen} after After. It replaces an armed timer.
	Arm struct {
		Timer Timer
		After time.Duration
		Gen   int
	}
	// Disarm cancels a timer.
	Disarm struct{ Timer Timer }
	// Start asks the executor to start the job. Deadline is the time left, 0: none.
	Start struct{ Deadline time.Duration }
	// Do sends a request to the process, which answers by a fact with the number Nth.
	Do struct {
		Request any
		Nth     uint64
	}
	// Stop asks the engine to stop the process tree.
	Stop struct {
		Cause messages.Cause
		Grace time.Duration
	}
	// Tell reports a fact about the job to the session. Job is the current record, which no
	// actor changes. Last says that the fact is the end and a CommandRetired in one; the
	// record is Retired then.
	Tell struct {
		Fact messages.CommandFact // with an empty record
		Job  *messages.Record
		Last bool
	}
	// Reply answers a client.
	Reply struct {
		To    ReplyID
		Reply messages.ControlReply
	}
	// Settle lets the engine forget the facts up to Seq.
	Settle struct{ Seq uint64 }
	// Keep leaves the facts up to Seq with the engine: the journal does not have them.
	Keep struct{ Seq uint64 }
	// Retire stops the actor: the job needs it no longer.
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

// Limits are the times of a command and its mode.
type Limits struct {
	Background   bool          // promote the job when it has started
	PromoteAfter time.Duration // 0: none
	Timeout      time.Duration // 0: none
	Grace        time.Duration // 0: messages.DefaultGrace, negative: none
}

// grace returns the time from TERM to KILL: asked, or the job's own.
func (l Limits) grace(asked time.Duration) time.Duration {
	return Grace(cmp.Or(asked, l.Grace))
}

// Grace returns the time from TERM to KILL: asked, or the default for 0. Negative is none.
func Grace(asked time.Duration) time.Duration {
	return max(cmp.Or(asked, messages.DefaultGrace), 0)
}
