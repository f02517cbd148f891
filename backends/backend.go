package backends

import (
	"time"

	"troupe/messages"
	"troupe/spill"
)

// Backend is a kind of job, such as pipe, pty and shell, which use an Engine.
type Backend interface {
	Name() string
	Can() Capabilities
	// Open makes the executor of a session. held are its jobs from before a restart. facts
	// receives ShellClosed and SessionReplaced. It must not block.
	Open(p ExecutorSpec, held []InventoryJob, facts FactHandler) (Executor, error)
}

// Capabilities are what a kind of job can do.
type Capabilities struct {
	Parallel  int  // jobs of one session at a time; 1: serial
	Queue     int  // jobs that may be queued in a session
	Keeps     bool // directory and variables stay from one command to the next
	Input     bool
	Terminal  bool
	Separate  bool // stdout and stderr can be kept apart
	Signals   bool
	Attribute bool // output always belongs to the right command
	Outlive   bool // jobs can outlive this process; their Meta identifies them to the next one
}

// ExecutorSpec describes the executor of a session.
type ExecutorSpec struct {
	Scope    messages.ScopePath
	Session  messages.SessionID
	Dir      string
	Env      []string // complete, of a live shell
	OwnPath  bool     // PATH in Env comes from a person or a request; a snapshot does not replace it
	Umask    int      // of a live shell; negative: the engine's own
	Shell    string
	Terminal messages.Terminal
	Limits   messages.Limits // of a live shell
}

// Executor starts the jobs of one session.
type Executor interface {
	// Check returns what is wrong with a command, or nil, before a job is made of it. It
	// reads the file system, which may block.
	Check(c Command) *messages.Error
	// Runnable reports whether Check is known to return nil without blocking. false: call
	// Check.
	Runnable(c Command) bool
	// Start runs the command, as a process or inside a live shell.
	Start(c Command, facts FactHandler) Process
	// Adopt is that of Engine.
	Adopt(id messages.UID, facts FactHandler) (Process, error)
	// Close ends the executor and its leftovers, except processes of KeepChildren. facts
	// receives ShellClosed afterwards.
	Close(grace time.Duration)
	// Yield gives up one job: another executor adopts it, and Close of this one does not
	// stop it.
	Yield(id messages.UID)
	// Release ends the executor and stops nothing. Open is called again later, with its
	// jobs.
	Release()
}

// Command is one command for an Executor.
type Command struct {
	ID       messages.UID
	Job      messages.JobID
	Text     string
	Argv     []string
	Shell    string
	Dir      string   // "": that of the session
	Env      []string // complete; in a live shell the variables to export first
	Umask    int
	Stdio    Stdio
	Deadline time.Duration
	Grace    time.Duration
	OnExit   messages.OnExit
	Detach   bool
	Log      spill.Plan
	Meta     []byte
	Attr     messages.ProcAttr
}
