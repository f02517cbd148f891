package messages

import (
	"strconv"
	"time"
)

// The process conversation: the engine reports what an OS process did.
//
//	engine --ProcessStarted | ProcessFailed--> command
//	engine --MainExited, ProcessExited--> command     (the result)
//	engine --OutputClosed, TreeEnded--> command       (the end, maybe hours later)
//
// A process whose keeper died says ProcessLost instead of its result, and
// nothing follows.
//
// In between come OutputGrew (only on credit), InputWaiting, LogBlocked,
// InputWritten, ControlDone, ControlRefused, LogFlagged. A job that failed to start says ProcessFailed
// and nothing else. OutputClosed and TreeEnded come once each, in any order,
// after ProcessExited; then nothing follows, but for the OutputGrew of a credit
// that was given when they were on their way.

// Stream is one output of a job.
type Stream uint8

// The streams; the numbers are those of package spill.
const (
	Merged Stream = iota
	Stdout
	Stderr
)

// String is the name of the stream in JSON and on the command line; of what is none its
// number.
func (s Stream) String() string {
	names := [...]string{"merged", "stdout", "stderr"}
	if int(s) < len(names) {
		return names[s]
	}
	return strconv.Itoa(int(s))
}

// ProcessStarted reports that the process exists.
type ProcessStarted struct {
	quiet
	PID       int
	StartTime uint64 // clock ticks since boot (/proc/PID/stat field 22): with PID, an identity
	At        time.Time
	Isolation Isolation
}

// Isolation is what holds a process tree together, and so what a kill reaches.
type Isolation string

// The kinds, strongest first.
const (
	InCgroup  Isolation = "cgroup"    // cgroup v2: everything
	Subreaper Isolation = "subreaper" // everything that descends from the engine
	Group     Isolation = "group"     // its process groups only
)

// ProcessFailed reports that the program could not be executed. No process
// exists and nothing follows.
type ProcessFailed struct {
	quiet
	Seq   uint64
	Err   Error // spawn_failed or resource_exhausted, reason = the errno's name
	Shell int   // 127 not found, 126 not executable, as a shell says
	At    time.Time
}

// MainExited reports that the main process has exited and that its result takes
// a while: its output is being drained, or its tree ended. It informs only and
// is left out where ProcessExited, the result, follows at once.
type MainExited struct {
	quiet
	Status ExitStatus
	At     time.Time
}

// ProcessExited reports the result, after the drain: Sizes hold every byte the
// main process wrote. For a job that was stopped it comes when nothing of the
// tree is left, or Survivors names what is.
type ProcessExited struct {
	quiet
	Seq        uint64 // the engine's number: settle it
	Last       uint64 // that of the TreeEnded, if this, OutputClosed and TreeEnded were said in one; 0: something of the job is left
	Status     ExitStatus
	Cause      Cause // zero: it ended by itself
	At         time.Time
	Sizes      Sizes
	Outputs    []OutputState // of those of which more is to be said than their size
	OutputOpen bool          // another process still holds the output
	Children   int           // of the job's processes, still alive
	Survivors  []Survivor
	OOM        Tristate
	Rusage     Rusage
	Flags      []Flag
	Dir        string // of a command in a live shell: where the shell is now
}

// Sizes are the bytes written so far, by stream.
type Sizes [3]int64

// OutputState is what there is to say of an output beside its size.
type OutputState struct {
	Stream Stream
	File   string // where it is; "": in memory
	Elided []OutputGap
}

// Flag marks something a user should know of a job beside its outcome.
type Flag string

// The flags.
const (
	FlagTreeUnverified Flag = "tree_unverified"            // only process groups could be reached, or who is left could not be listed
	FlagUnsupervised   Flag = "unsupervised"               // its actor crashed too often; it can only be stopped
	FlagLogBlocked     Flag = "log_blocked"                // its output waited for room
	FlagLogTampered    Flag = "log_tampered"               // its log was changed from outside
	FlagLogUnlinked    Flag = "log_unlinked"               // its log was deleted and made anew
	FlagClientGone     Flag = "client_gone"                // cancelled because its client went away
	FlagKept           Flag = "kept"                       // somebody promoted it to stay when the client of its scope leaves
	FlagKeeperFault    Flag = "keeper_fault"               // a fault of the engine; its descriptors were kept
	FlagSessionEnded   Flag = "session_ended"              // its live shell ended with it
	FlagReplaced       Flag = "session_replaced"           // its live shell was made anew for it: what the one before had set is lost
	FlagNoSnapshot     Flag = "no_snapshot"                // its live shell began with it, and could not take up what its user has set up
	FlagBackground     Flag = "background_output_possible" // on a terminal: what others left behind may have written between
	FlagNoFence        Flag = "no_fence"                   // the end of its output was not seen on the terminal, and is where it was quiet
	FlagStdinShared    Flag = "stdin_inherited"            // it reads the host's own standard input
)

// ProcessLost reports that the engine died before it could record the exit: how
// the process ended is not known, and nothing of its tree is left but Survivors.
// It is the last word; ProcessStarted may not have come before it.
type ProcessLost struct {
	quiet
	Seq       uint64
	Err       Error // internal, reason "keeper" or "reboot"
	At        time.Time
	Survivors []Survivor
}

// OutputClosed reports that no process holds the output any more: its log is
// sealed, and Sizes and Outputs are final.
type OutputClosed struct {
	quiet
	Seq     uint64
	Sizes   Sizes
	Outputs []OutputState `json:",omitempty"` // as of ProcessExited
}

// TreeEnded reports that no process of the job is left, or which ones could
// not be ended. It is the job's last word beside OutputClosed.
type TreeEnded struct {
	quiet
	Seq       uint64
	Survivors []Survivor
}

// OutputGrew reports the size of a stream's log. It is sent once for each
// credit: a sink that wants the next one asks again.
type OutputGrew struct {
	quiet
	Stream Stream
	Size   int64
}

// InputWaiting reports that the job waits for input, or no longer does.
type InputWaiting struct {
	quiet
	Waiting bool
	Secret  bool // on a terminal that shows nothing of it: for a password
}

// LogBlocked reports that the output cannot be stored now (the job is paced by
// its own full pipe, no byte is lost), or that it can again.
type LogBlocked struct {
	quiet
	Stream  Stream
	Blocked bool
	Message string
}

// LogFlagged reports that a log was deleted or changed from outside.
type LogFlagged struct {
	quiet
	Stream Stream
	Flag   Flag
}

// ControlDone reports that a control took effect. Each control of a job is answered
// once: with ControlDone, ControlRefused or, for input, InputWritten. Nth is the number
// that it was asked with; 0: it had none, and is the first of those that are not answered.
type ControlDone struct {
	quiet
	Nth uint64
}

// ControlRefused reports that a control could not be done; nothing changed.
type ControlRefused struct {
	quiet
	Err Error
	Nth uint64
}

// ControlAnswer is a fact that answers a control.
type ControlAnswer interface {
	ProcessFact
	// Answers is the number of the control.
	Answers() uint64
	// Answering is the same answer to another control.
	Answering(nth uint64) ControlAnswer
}

// Answers implements ControlAnswer.
func (f ControlDone) Answers() uint64    { return f.Nth }
func (f ControlRefused) Answers() uint64 { return f.Nth }
func (f InputWritten) Answers() uint64   { return f.Nth }

// Answering implements ControlAnswer.
func (f ControlDone) Answering(nth uint64) ControlAnswer {
	f.Nth = nth
	return f
}

// Answering implements ControlAnswer.
func (f ControlRefused) Answering(nth uint64) ControlAnswer {
	f.Nth = nth
	return f
}

// Answering implements ControlAnswer.
func (f InputWritten) Answering(nth uint64) ControlAnswer {
	f.Nth = nth
	return f
}

// ProcessFact is what an engine may report about a process.
type ProcessFact interface{ processFact() }

func (ProcessStarted) processFact()  {}
func (ProcessFailed) processFact()   {}
func (MainExited) processFact()      {}
func (ProcessExited) processFact()   {}
func (ProcessLost) processFact()     {}
func (OutputClosed) processFact()    {}
func (TreeEnded) processFact()       {}
func (OutputGrew) processFact()      {}
func (InputWaiting) processFact()    {}
func (LogBlocked) processFact()      {}
func (LogFlagged) processFact()      {}
func (ControlDone) processFact()     {}
func (ControlRefused) processFact()  {}
func (InputWritten) processFact()    {}
func (ShellClosed) processFact()     {}
func (SessionReplaced) processFact() {}
func (SnapshotTried) processFact()   {}
