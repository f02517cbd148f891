// Package backends holds the interfaces between the tree and the processes:
// an Engine owns process trees, a Backend is a kind of job, a Shell is one
// session's place to run, a Process is one job. What a process does comes back
// as facts; what travels by fact is small, output does not.
//
// Only the packages below this one touch the operating system, and only they
// (with gateways, bench and cmd) start goroutines. They do not know what an
// actor is.
package backends

import (
	"context"
	"time"

	"troupe/messages"
	"troupe/spill"
)

// FactHandler is told what a process does: from goroutines of the engine, serially
// for each job and in order. It must not block and must not call back into the
// Process.
type FactHandler func(messages.ProcessFact)

// Engine owns process trees: engine.Local, the client of a keeper, the fake.
// Its methods return at once but for Inventory and Close.
type Engine interface {
	// Start starts the job of s.ID. Facts are ProcessFailed alone, or
	// ProcessStarted, … ProcessExited once, OutputClosed once, TreeEnded once.
	// One whose keeper dies ends with ProcessLost instead, if nobody knows how.
	// An ID that is known is joined, as by Adopt: a job never runs twice.
	Start(s Spec, facts FactHandler) Process

	// Adopt binds facts to a known job and ends its former binding. It replays
	// ProcessStarted (with its start time) and every fact that is not settled.
	// An unknown id is an error with the code not_found, said only when nothing
	// of the job is left alive.
	Adopt(id messages.UID, facts FactHandler) (Process, error)

	// Inventory lists the jobs that live or have unsettled facts. It may wait.
	Inventory(ctx context.Context) ([]InventoryJob, error)

	// CanKeep reports whether jobs can outlive this process: those of a keeper.
	CanKeep() bool

	// Close ends the engine. With keep the jobs run on where they can;
	// otherwise whatever is left of any job is killed first.
	// It returns what could not be ended.
	Close(keep bool) []messages.Survivor
}

// Detacher is an Engine that can start jobs which outlive whoever holds the others
// (Spec.Detach): each has a keeper of its own.
type Detacher interface {
	// CheckDetach says why a job cannot be detached whose log is to be in file; "": in
	// a place of the engine's choice.
	CheckDetach(file string) *messages.Error
}

// RemoteEngine is an Engine in another process, which may be stopped, or hang, and live.
type RemoteEngine interface {
	// Unresponsive is closed while that does not answer. What it is asked then is done
	// when it goes on, but for starts and controls, which are refused.
	Unresponsive() <-chan struct{}
	// Health says why, with the code keeper_unresponsive; nil: it answers.
	Health() *messages.Error
}

// Process is one job. Every call is idempotent, legal in every phase, safe
// from any goroutine and never waits.
type Process interface {
	// Output opens the log of a stream for reading; the caller closes it. It is
	// an error with the code output_unavailable when there is none.
	Output(messages.Stream) (spill.Log, error)

	// Do asks for a Control. They take effect in their order, and each is answered by
	// one fact: a Numbered one as soon as its answer is known, the others in their
	// order. After an Adopt by another, answers that are still due are not told.
	Do(Control)

	// Stop ends the tree: TERM, after grace KILL (docs/design/engine.md). The first cause
	// stays; a shorter grace shortens what is left of it;
	// grace 0 kills at once. After the exit it ends what the job left behind,
	// and TreeEnded reports it.
	Stop(c messages.Cause, grace time.Duration)

	// NotifyGrowth gives one credit: the next OutputGrew of the stream, at once if the
	// log is larger than from, else when it grows; then silence.
	NotifyGrowth(s messages.Stream, from int64)

	// SaveMeta keeps meta (at most MaxMeta) with the job before any later Do takes
	// effect. It replaces the Meta of the Spec.
	SaveMeta(meta []byte)

	// Settle says that all facts up to the engine's number seq are recorded: the
	// engine may forget them, and a job that has none left and is over.
	Settle(seq uint64)

	// Release unbinds the facts: none is told after it returns. The job runs on.
	Release()
}

// Spec is all an engine must know to start one job.
type Spec struct {
	ID          messages.UID // nonce, name of the logs, key of the journal
	Argv        []string     // Argv[0] is looked up in Env's PATH, relative to Dir, if it has no slash
	Program     string       // the file of Argv[0], absolute, if it was looked up before; "": it was not
	Env         []string     // whole: nothing is added
	Dir         string       // absolute; "": the engine's own
	Umask       int          // negative: the engine's own
	Stdio       Stdio
	Deadline    time.Duration // insurance for the time in which no tree runs; 0: none
	Grace       time.Duration // of the deadline
	OnExit      messages.OnExit
	Detach      bool // in a keeper of its own, where the Engine is a Detacher
	Log         spill.Plan
	Script      string       // not "": a text for a file whose path becomes the last of Argv, for as long as the main process lives
	Live        *LiveShell   // not nil: a live shell
	In          messages.UID // not "": a command of that live shell, whose text is Script; Argv, Env, Dir, Umask and Detach are not used
	SameExports bool         // of such a command: it leaves what the shell exports as it is
	Meta        []byte       // opaque, at most MaxMeta: rebuilds the tree after a restart
}

// MaxMeta bounds Spec.Meta and Note: it is kept in memory for each job.
const MaxMeta = 4096

// Stdio is what a process finds on its descriptors 0, 1 and 2.
type Stdio struct {
	Stdin    messages.StdinMode
	Streams  messages.StreamMode
	Terminal messages.Terminal // not zero: a PTY; then Streams is merged
	Ended    bool              // on a PTY: nobody types, and the key for the end of the input is the first that comes
}

// InventoryJob is a job that an engine has when a tree is built around it.
type InventoryJob struct {
	ID   messages.UID
	Meta []byte
	Live bool // false: over, with facts that are not settled
	// Ended: its end is among the facts that Adopt replays.
	Ended bool `json:",omitempty"`
	// Dir is where a live shell is, or was at its end; "": it is none, or not known.
	Dir string `json:",omitempty"`
	// Closed: it is a live shell that was ended with its session.
	Closed bool `json:",omitempty"`
	// Last is the number of the last fact of a job that is over; 0: it is not, or not known.
	Last uint64 `json:",omitempty"`

	// What the tree adds, for Backend.Open: an engine says it no more.
	Keep   bool `json:"-"` // it was started with KeepChildren
	Exited bool `json:"-"` // its result was told and settled before
}
