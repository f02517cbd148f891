package backends

import (
	"context"
	"time"

	"troupe/messages"
	"troupe/spill"
)

// FactHandler receives the facts of a process from goroutines of the engine, serially for each
// job and in order. It must not block and must not call back into the Process.
type FactHandler func(messages.ProcessFact)

// Engine owns process trees: engine.Local, the client of a keeper, the fake. All methods
// except Inventory and Close return at once.
type Engine interface {
	// Start starts the job s.ID. Its facts are ProcessFailed alone, or ProcessStarted, …
	// and once each ProcessExited, OutputClosed and TreeEnded. After the death of its
	// keeper a job ends with ProcessLost if its exit is unknown. A known ID is joined, as by
	// Adopt: a job never runs twice.
	Start(s Spec, facts FactHandler) Process

	// Adopt binds facts to a known job and ends its former binding. It replays
	// ProcessStarted, with its start time, and every unsettled fact. For an unknown id whose
	// processes have all ended the error has the code not_found.
	Adopt(id messages.UID, facts FactHandler) (Process, error)

	// Inventory lists the jobs that live or have unsettled facts. It may block.
	Inventory(ctx context.Context) ([]InventoryJob, error)

	// CanKeep reports whether jobs can outlive this process, as those of a keeper do.
	CanKeep() bool

	// Close ends the engine. With keep the jobs run on where they can. Otherwise it first
	// kills every process of any job. It returns the survivors.
	Close(keep bool) []messages.Survivor
}

// Detacher is an Engine that can start detached jobs (Spec.Detach), each in a keeper of its
// own.
type Detacher interface {
	// CheckDetach returns why a job cannot be detached with its log in file, or nil. "" is a
	// place of the engine's choice.
	CheckDetach(file string) *messages.Error
}

// RemoteEngine is an Engine in another process, which may be stopped or hang.
type RemoteEngine interface {
	// Unresponsive returns a channel that is closed while the engine does not answer. The
	// engine carries out later what it is asked meanwhile, except starts and controls, which
	// are refused.
	Unresponsive() <-chan struct{}
	// Health returns an error with the code keeper_unresponsive, or nil if it answers.
	Health() *messages.Error
}

// LiveReader is an Engine that can read what the processes of its jobs do.
type LiveReader interface {
	// ReadLive reads what the processes of jobs do and use now, as far as it can until ctx ends.
	// Jobs without a process, and those of which nothing is known, may be missing. It blocks.
	ReadLive(ctx context.Context, jobs []messages.UID) map[messages.UID]messages.LiveState
}

// Process is one job. Every call is idempotent, valid in every phase, safe for concurrent use
// and never blocks.
type Process interface {
	// Output opens the log of a stream; the caller closes it. Without a log the error has the
	// code output_unavailable.
	Output(messages.Stream) (spill.Log, error)

	// Do requests a Control. Controls take effect in order, and one fact answers each: a
	// Sequenced one as soon as its answer is known, the others in order. Adopt by another
	// owner drops the answers that are still due.
	Do(Control)

	// Stop stops the tree: TERM, after grace KILL (docs/design/engine.md). The first cause
	// stays. A shorter grace shortens the time that is left, and 0 kills at once. After the
	// exit Stop stops the leftovers, which TreeEnded reports.
	Stop(c messages.Cause, grace time.Duration)

	// NotifyGrowth requests one OutputGrew: at once if the log is longer than from, else when
	// it next grows.
	NotifyGrowth(s messages.Stream, from int64)

	// SaveMeta stores meta, of at most MaxMeta bytes, with the job before any later Do takes
	// effect. It replaces Spec.Meta.
	SaveMeta(meta []byte)

	// Settle confirms that all facts up to the engine's number seq are recorded. The engine
	// may forget them, and a finished job that has no others.
	Settle(seq uint64)

	// Release ends the binding: no fact is delivered after it returns. The job runs on.
	Release()
}

// Spec describes one job to an engine.
type Spec struct {
	ID          messages.UID      `cbor:"1,keyasint,omitzero"` // nonce, name of the logs, key of the journal
	Argv        []string          `cbor:"2,keyasint,omitzero"` // Argv[0] without a slash is looked up in Env's PATH, relative to Dir
	Program     string            `cbor:"3,keyasint,omitzero"` // absolute path of Argv[0] from an earlier lookup; "": none
	Env         []string          `cbor:"4,keyasint,omitzero"` // complete
	Dir         string            `cbor:"5,keyasint,omitzero"` // absolute; "": the engine's own
	Umask       int               `cbor:"6,keyasint,omitzero"` // negative: the engine's own
	Stdio       Stdio             `cbor:"7,keyasint,omitzero"`
	Deadline    time.Duration     `cbor:"8,keyasint,omitzero"` // applies even while no tree runs; 0: none
	Grace       time.Duration     `cbor:"9,keyasint,omitzero"` // of the deadline
	OnExit      messages.OnExit   `cbor:"10,keyasint,omitzero"`
	Detach      bool              `cbor:"11,keyasint,omitzero"` // in a keeper of its own, where the Engine is a Detacher
	Log         spill.Plan        `cbor:"12,keyasint,omitzero"`
	Script      string            `cbor:"13,keyasint,omitzero"` // not "": text of a file whose path is the last of Argv while the main process lives
	Live        *LiveShell        `cbor:"14,keyasint,omitzero"` // not nil: a live shell
	In          messages.UID      `cbor:"15,keyasint,omitzero"` // not "": a command of that live shell with the text Script; of the rest Argv, Env, Dir, Umask and Detach are not used, and Attr only for its IdleTimeout
	SameExports bool              `cbor:"16,keyasint,omitzero"` // of such a command: it does not change what the shell exports
	Meta        []byte            `cbor:"17,keyasint,omitzero"` // opaque, at most MaxMeta bytes: rebuilds the tree after a restart
	Attr        messages.ProcAttr `cbor:"18,keyasint,omitzero"`
}

// MaxMeta bounds Spec.Meta and SaveMeta, in bytes: the engine keeps it in memory for each job.
const MaxMeta = 4096

// Stdio describes the descriptors 0, 1 and 2 of a process.
type Stdio struct {
	Stdin    messages.StdinMode  `cbor:"1,keyasint,omitzero"`
	Streams  messages.StreamMode `cbor:"2,keyasint,omitzero"`
	Terminal messages.Terminal   `cbor:"3,keyasint,omitzero"` // not zero: a PTY, and Streams is merged
	Ended    bool                `cbor:"4,keyasint,omitzero"` // on a PTY: no client types, so the first input is the end-of-file key
}

// InventoryJob is a job that an engine has when a node starts.
type InventoryJob struct {
	ID   messages.UID `cbor:"1,keyasint,omitzero"`
	Meta []byte       `cbor:"2,keyasint,omitzero"`
	Live bool         `cbor:"3,keyasint,omitzero"` // false: finished, with unsettled facts
	// Ended: its end is one of the facts that Adopt replays.
	Ended bool `cbor:"4,keyasint,omitzero"`
	// Dir is the directory of a live shell, or its last one; "": not a live shell, or unknown.
	Dir string `cbor:"5,keyasint,omitzero"`
	// Closed: a live shell that was stopped with its session.
	Closed bool `cbor:"6,keyasint,omitzero"`
	// Last is the number of the last fact of a finished job; 0: not finished, or unknown.
	Last uint64 `cbor:"7,keyasint,omitzero"`

	// Set by the tree for Backend.Open, not by an engine.
	Keep   bool `cbor:"-"` // started with KeepChildren
	Exited bool `cbor:"-"` // its result was delivered and settled before
}
