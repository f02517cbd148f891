package messages

import (
	"strconv"
	"time"
)

// The process conversation: the engine reports what an OS process does.
//
//	engine --ProcessStarted | ProcessFailed--> command
//	engine --ProcessStopping--> command               (the engine stops it by itself)
//	engine --MainExited, ProcessExited--> command     (the result)
//	engine --OutputClosed, TreeEnded--> command       (the end, maybe hours later)
//
// After the death of its keeper a process has ProcessLost instead of its result, and
// nothing follows.
//
// In between come OutputGrew (only on credit), InputWaiting, LogBlocked, InputWritten,
// ControlDone, ControlRefused and LogFlagged. A job that failed to start has ProcessFailed
// alone. OutputClosed and TreeEnded come once each, in any order, after ProcessExited.
// Only an OutputGrew may follow them, for a credit given shortly before.

// Stream is one output of a job.
type Stream uint8

// The streams. Package spill has the same numbers of the first three.
const (
	Merged Stream = iota
	Stdout
	Stderr
	Both // stdout and stderr in the order of arrival; only of a view
)

// String returns the name of the stream in JSON and on the command line, or the number of
// an unknown one.
func (s Stream) String() string {
	names := [...]string{"merged", "stdout", "stderr", "both"}
	if int(s) < len(names) {
		return names[s]
	}
	return strconv.Itoa(int(s))
}

// ProcessStarted reports that the process exists.
type ProcessStarted struct {
	ofProcess
	PID       int       `cbor:"1,keyasint,omitzero"`
	StartTime uint64    `cbor:"2,keyasint,omitzero"` // clock ticks since boot (/proc/PID/stat field 22); identifies the process together with PID
	At        time.Time `cbor:"3,keyasint,omitzero"`
	Isolation Isolation `cbor:"4,keyasint,omitzero"`
}

// Isolation is the mechanism that holds a process tree together. A kill reaches no more.
type Isolation string

// The kinds, strongest first.
const (
	InCgroup  Isolation = "cgroup"    // cgroup v2: every process
	Subreaper Isolation = "subreaper" // every descendant of the engine
	Group     Isolation = "group"     // only its process groups
)

// ProcessFailed reports that the program could not be executed. No process exists and
// nothing follows.
type ProcessFailed struct {
	ofProcess
	Seq   uint64    `cbor:"1,keyasint,omitzero"`
	Err   Error     `cbor:"2,keyasint,omitzero"` // spawn_failed or resource_exhausted, with the name of the errno as reason
	Shell int       `cbor:"3,keyasint,omitzero"` // 127 not found, 126 not executable, as in a shell
	At    time.Time `cbor:"4,keyasint,omitzero"`
}

// ProcessStopping reports that the engine stops the process by itself: it was idle for too
// long. The result follows, as after a stop of the command.
type ProcessStopping struct {
	ofProcess
	Cause Cause `cbor:"1,keyasint,omitzero"`
}

// MainExited reports that the main process has exited while its output is drained or its
// tree is stopped. The engine leaves it out if ProcessExited follows at once.
type MainExited struct {
	ofProcess
	Status ExitStatus `cbor:"1,keyasint,omitzero"`
	At     time.Time  `cbor:"2,keyasint,omitzero"`
}

// ProcessExited reports the result, after the drain: Sizes count every byte that the main
// process wrote. For a stopped job it comes when the whole tree has ended, or with
// Survivors.
type ProcessExited struct {
	ofProcess
	Seq        uint64        `cbor:"1,keyasint,omitzero"` // the engine's number, to be settled
	Last       uint64        `cbor:"2,keyasint,omitzero"` // number of TreeEnded, if the engine reports this, OutputClosed and TreeEnded together; 0: a part of the job remains
	Status     ExitStatus    `cbor:"3,keyasint,omitzero"`
	Cause      Cause         `cbor:"4,keyasint,omitzero"` // zero: it ended by itself
	At         time.Time     `cbor:"5,keyasint,omitzero"`
	Sizes      Sizes         `cbor:"6,keyasint,omitzero"`
	Outputs    []OutputState `cbor:"7,keyasint,omitzero"` // of the outputs that have more than a size
	OutputOpen bool          `cbor:"8,keyasint,omitzero"` // another process still holds the output
	Children   int           `cbor:"9,keyasint,omitzero"` // processes of the job that are still alive
	Survivors  []Survivor    `cbor:"10,keyasint,omitzero"`
	OOM        Tristate      `cbor:"11,keyasint,omitzero"`
	Rusage     Rusage        `cbor:"12,keyasint,omitzero"`
	Flags      []Flag        `cbor:"13,keyasint,omitzero"`
	Dir        string        `cbor:"14,keyasint,omitzero"` // of a command in a live shell: the shell's directory now
	Pipe       []int         `cbor:"15,keyasint,omitzero"` // of such a command: End.Pipe
}

// Sizes are the bytes written so far, by stream.
type Sizes [3]int64

// OutputState is what is known of an output beside its size.
type OutputState struct {
	Stream Stream      `cbor:"1,keyasint,omitzero"`
	File   string      `cbor:"2,keyasint,omitzero"` // "": in memory
	Elided []OutputGap `cbor:"3,keyasint,omitzero"`
}

// Flag marks a property of a job that a user should know beside its outcome.
type Flag string

// The flags.
const (
	FlagTreeUnverified Flag = "tree_unverified"            // only process groups could be reached, or the survivors could not be listed
	FlagUnsupervised   Flag = "unsupervised"               // its actor crashed too often; it can only be stopped
	FlagLogBlocked     Flag = "log_blocked"                // its output waited for storage
	FlagLogTampered    Flag = "log_tampered"               // its log was changed from outside
	FlagLogUnlinked    Flag = "log_unlinked"               // its log was deleted and created again
	FlagClientGone     Flag = "client_gone"                // cancelled because its client disconnected
	FlagKept           Flag = "kept"                       // promoted with Keep: it stays when the client of its scope leaves
	FlagKeeperFault    Flag = "keeper_fault"               // the engine failed; the descriptors of the job were kept
	FlagOutputLost     Flag = "output_lost"                // the process that held it died, and an output of it, or a part, is not stored
	FlagSignalRefused  Flag = "signal_refused"             // a process of it sent its keeper a signal, which was refused
	FlagSessionEnded   Flag = "session_ended"              // its live shell ended with it
	FlagErrexit        Flag = "errexit"                    // set -e ended it, and its live shell goes on
	FlagReplaced       Flag = "session_replaced"           // its live shell was replaced before it; the state of the former one is lost
	FlagNoSnapshot     Flag = "no_snapshot"                // its live shell started with it, without the user's shell snapshot
	FlagBackground     Flag = "background_output_possible" // on a terminal: leftovers of earlier commands may have written into its output
	FlagNoFence        Flag = "no_fence"                   // no fence was seen on the terminal; its output ends where the terminal was idle
	FlagStdinShared    Flag = "stdin_inherited"            // it reads the host's own standard input
	FlagFaults         Flag = "faults"                     // the faults of a plan happen to the jobs of its daemon (package faults)
	FlagLimitsRefused  Flag = "limits_refused"             // the kernel did not allow all limits of its request: it has the nearest
)

// ProcessLost reports that the engine died before it recorded the exit. How the process
// ended is unknown, and only Survivors are left of its tree. Nothing follows.
// ProcessStarted may be missing. Sizes and Outputs are those of the logs that are left;
// FlagOutputLost says that one is missing.
type ProcessLost struct {
	ofProcess
	Seq       uint64        `cbor:"1,keyasint,omitzero"`
	Err       Error         `cbor:"2,keyasint,omitzero"` // internal, reason "keeper" or "reboot"
	At        time.Time     `cbor:"3,keyasint,omitzero"`
	Survivors []Survivor    `cbor:"4,keyasint,omitzero"`
	Sizes     Sizes         `cbor:"5,keyasint,omitzero"`
	Outputs   []OutputState `cbor:"6,keyasint,omitzero"`
	Flags     []Flag        `cbor:"7,keyasint,omitzero"`
}

// OutputClosed reports that no process holds the output any more. Its log is sealed;
// Sizes and Outputs are final.
type OutputClosed struct {
	ofProcess
	Seq     uint64        `cbor:"1,keyasint,omitzero"`
	Sizes   Sizes         `cbor:"2,keyasint,omitzero"`
	Outputs []OutputState `cbor:"3,keyasint,omitzero"` // as in ProcessExited
}

// TreeEnded reports that every process of the job has ended except Survivors. Only
// OutputClosed may follow.
type TreeEnded struct {
	ofProcess
	Seq       uint64     `cbor:"1,keyasint,omitzero"`
	Survivors []Survivor `cbor:"2,keyasint,omitzero"`
}

// OutputGrew reports the size of a stream's log, once for each credit.
type OutputGrew struct {
	ofProcess
	Stream Stream `cbor:"1,keyasint,omitzero"`
	Size   int64  `cbor:"2,keyasint,omitzero"`
}

// InputWaiting reports whether the job waits for input.
type InputWaiting struct {
	ofProcess
	Waiting bool `cbor:"1,keyasint,omitzero"`
	Secret  bool `cbor:"2,keyasint,omitzero"` // on a terminal that does not echo, as for a password
}

// LogBlocked reports that the output cannot be stored, or can be stored again. No byte is
// lost: the job blocks when its pipe is full.
type LogBlocked struct {
	ofProcess
	Stream  Stream `cbor:"1,keyasint,omitzero"`
	Blocked bool   `cbor:"2,keyasint,omitzero"`
	Message string `cbor:"3,keyasint,omitzero"`
}

// LogFlagged reports that a log was deleted or changed from outside.
type LogFlagged struct {
	ofProcess
	Stream Stream `cbor:"1,keyasint,omitzero"`
	Flag   Flag   `cbor:"2,keyasint,omitzero"`
}

// ControlDone reports that a control took effect. Each control of a job is answered once:
// with ControlDone, ControlRefused or, for input, InputWritten. Nth is the number of the
// control. 0 answers the oldest control that has no number.
type ControlDone struct {
	ofProcess
	Nth uint64 `cbor:"1,keyasint,omitzero"`
}

// ControlRefused reports that a control had no effect, and why.
type ControlRefused struct {
	ofProcess
	Err Error  `cbor:"1,keyasint,omitzero"`
	Nth uint64 `cbor:"2,keyasint,omitzero"`
}

// ControlAnswer is a fact that answers a control.
type ControlAnswer interface {
	ProcessFact
	// Answers returns the number of the control.
	Answers() uint64
	// Answering returns the same answer for another control.
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

// ofProcess is embedded in the facts that only engines report.
type ofProcess struct{ quiet }

func (ofProcess) processFact()       {}
func (SessionReplaced) processFact() {}
