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

// LiveShell makes a job a live shell: a process that stays and runs commands one by one
// (docs/design/live-shells.md). The engine makes a directory for it (0700) with
// Files (0600) and the FIFOs ctl and st; in Files, Argv and Env @DIR@ stands for its path,
// which needs no quoting, and in Files @TTY@ for that of its terminal, if Stdio names one.
// When it can take its first command the shell writes "NUL ready 0 CWD NUL" to st. The directory is there
// until the facts of the shell are settled.
//
// A command is a job too (Spec.In): refused with session_closed if the shell is gone,
// with busy if another runs in it, and failed with what the shell printed if that does
// not come up. The engine writes its text into a file of the directory, and a line of 18
// bytes to ctl: a nonce (16 hexadecimal digits) and a letter. The shell runs the text: the
// file text, if the letter is m or s, which the next command overwrites; NONCE, if it is n
// or t. Where Spec.SameExports is true the letter is e for m and k for s: the shell need not
// keep for its successor what it exports. Without a terminal its output goes to the FIFO out;
// with the letters s, k and t what it writes as errors goes to the FIFO err. Its input is
// /dev/null; with a capital letter it is the FIFO NONCE.in, and when the shell has opened
// that it writes "NUL NONCE run CWD NUL" to st. When it has let go of the
// output it writes "NUL NONCE STATUS CWD NUL" to st: that is the truth about the end. If
// the shell dies first, its end is that of the command, which is flagged session_ended.
// What has another nonce, or none, changes nothing.
//
// An interrupt may meet the shell as it reads a line: it writes "NUL again 0 NUL" to st,
// and the line is told again; of the rest of the one before it makes nothing. A shell that
// Syncs answers the letter y with "NUL sync 0 NUL", and runs nothing: it is told that ahead of a
// command on a terminal if what was done for the one before may have sent it an interrupt,
// since the shell may have something to write for that.
//
// In a shell on a terminal that is the input and the output of each command, whose Stdio
// says how large it is to be. Before its report the shell writes the fence
// "ESC ] 133 ; D ; STATUS ; NONCE BEL" behind the last byte; it is in no log. The modes are
// those of the start again when a command begins, and what was typed before is dropped.
// Output that came between two commands is the shell's own, also what children in the
// background write; what they write while a command runs is in its log, and its result is
// flagged background_output_possible. Without a fence the log ends where the terminal was
// quiet, flagged no_fence (docs/decisions/025).
//
// The start of a command names the process of the shell. A signal goes to what the
// command runs, and INT, as from a keyboard, to the shell as well.
//
// A command that is stopped is interrupted, then what it started is sent TERM and
// KILL; a shell that does not come back is ended, too. What earlier commands left is let
// alone. What a command leaves behind is the shell's: it is counted, and TreeEnded does
// not wait for it, unless OnExit is KillChildren.
type LiveShell struct {
	Files map[string]string

	// From is a live shell that has ended, and whose facts are not all settled: files of
	// its directory whose names begin with "kept" are this one's now. "": none.
	From messages.UID

	// Syncs: it knows the letter y.
	Syncs bool

	// Within is how long it may take until it is ready; then it is ended. 0: a minute.
	Within time.Duration
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

// Control is something a running process can be asked: the sealed set below.
type Control interface{ control() }

// The controls.
type (
	// Input gives bytes to standard input; answered by InputWritten when the
	// kernel has taken all of them.
	Input struct {
		Data []byte
		Raw  bool
	}
	// CloseInput ends standard input, behind all input given before.
	CloseInput struct{}
	// CheckInput has the job looked at for so long: InputAwaited says when it waits for
	// input, and when no longer. It is refused with no_input if the job can never wait,
	// with unsupported where that cannot be seen.
	CheckInput struct{ For time.Duration }
	// Resize changes the size of the terminal.
	Resize struct{ Size messages.Terminal }
	// Signal sends a signal (without SIG) to the main process or the tree.
	Signal struct {
		Name string
		Tree bool
	}
	// ResetTerminal restores the terminal's modes from the master side.
	ResetTerminal struct{}
	// Deadline replaces Spec.Deadline: After from now, 0 for none.
	Deadline struct{ After time.Duration }
	// Pause stops the capture of output: the job blocks when its pipe is full.
	Pause struct{}
	// Resume goes on with it.
	Resume struct{}
	// Sequenced is any of these, whose answer has the number Nth, which is not 0: it waits
	// for no other, as a signal need not wait for input that the job does not read.
	Sequenced struct {
		Control
		Nth uint64
	}
)

func (Input) control()         {}
func (CloseInput) control()    {}
func (CheckInput) control()    {}
func (Resize) control()        {}
func (Signal) control()        {}
func (ResetTerminal) control() {}
func (Deadline) control()      {}
func (Pause) control()         {}
func (Resume) control()        {}

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
