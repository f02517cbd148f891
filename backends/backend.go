package backends

import (
	"time"

	"troupe/messages"
	"troupe/spill"
)

// Backend is a kind of job: pipe, pty and shell stand on an Engine, client on
// its peer.
type Backend interface {
	Name() string
	Can() Capabilities
	// Open makes a session's place to run. held are the jobs it had before a
	// restart. facts hears ShellClosed and SessionReplaced. It must not wait.
	Open(p ExecutorSpec, held []InventoryJob, facts FactHandler) (Executor, error)
}

// Capabilities say what a kind of job can do.
type Capabilities struct {
	Parallel  int  // jobs of one session at a time; 1: serial
	Queue     int  // jobs that may wait in a session
	Keeps     bool // directory and variables live from one command to the next
	Input     bool
	Terminal  bool
	Separate  bool // stdout and stderr can be kept apart
	Signals   bool
	Attribute bool // output is always attributed to the right command
	Outlive   bool // jobs can outlive this process: their Meta tells the next one what they are
}

// ExecutorSpec is where a session runs.
type ExecutorSpec struct {
	Scope    messages.ScopePath
	Session  messages.SessionID
	Dir      string
	Env      []string // whole, of a live shell
	OwnPath  bool     // the PATH in it is that of a person or a request, which a snapshot does not change
	Umask    int      // of a live shell; negative: the engine's own
	Shell    string
	Terminal messages.Terminal
}

// Executor is a session's place to run.
type Executor interface {
	// Check says what is wrong with a command, before anything of it exists:
	// no job is made of it. It looks at the file system, which may hang.
	Check(c Command) *messages.Error
	// Runnable reports that Check would find nothing, if that can be told without
	// waiting for anything.
	Runnable(c Command) bool
	// Start runs the command: as a process, or a section of one.
	Start(c Command, facts FactHandler) Process
	// Adopt is as Engine's.
	Adopt(id messages.UID, facts FactHandler) (Process, error)
	// Close ends the place and what its commands left behind, but for what was
	// started with KeepChildren; facts hears ShellClosed when that is done.
	Close(grace time.Duration)
	// Yield lets go of one job for good: another place adopts it, and Close of
	// this one does not end it.
	Yield(id messages.UID)
	// Release lets go of the place without ending anything: it will be opened
	// again with what it holds.
	Release()
}

// Command is one command for a Shell.
type Command struct {
	ID       messages.UID
	Job      messages.JobID
	Text     string
	Argv     []string
	Shell    string
	Dir      string   // "": that of the place
	Env      []string // whole; in a live shell what is exported before
	Umask    int
	Stdio    Stdio
	Deadline time.Duration
	Grace    time.Duration
	OnExit   messages.OnExit
	Detach   bool
	Log      spill.Plan
	Meta     []byte
}
