package messages

import (
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// Outcome is how a job ended. A job has exactly one, set once.
type Outcome string

// The outcomes. The exit of the main process decides.
const (
	Exited        Outcome = "exited"          // by itself, with a code
	Signaled      Outcome = "signaled"        // by a signal that troupe did not send
	TimedOut      Outcome = "timed_out"       // stopped at its deadline, or because it wrote nothing for its idle timeout
	Cancelled     Outcome = "cancelled"       // stopped for any other cause
	FailedToStart Outcome = "failed_to_start" // the program could not be executed
	Lost          Outcome = "lost"            // the engine does not know how it ended, and nothing of it is left
)

// End is how a job ended. Children and Survivors may be known before.
type End struct {
	Outcome   Outcome    `json:"outcome" cbor:"1,keyasint,omitzero"`     // "" until the job has finished
	Code      *int       `json:"exit_code" cbor:"2,keyasint,omitzero"`   // nil: a signal ended its main process, or how it ended is not known
	Signal    string     `json:"signal" cbor:"3,keyasint,omitzero"`      // that ended its main process: "KILL"
	Cause     Cause      `json:"cause" cbor:"4,keyasint,omitzero"`       // zero: it ended by itself
	Err       Error      `json:"error" cbor:"5,keyasint,omitzero"`       // why it failed to start, or is lost
	At        time.Time  `json:"finished_at" cbor:"6,keyasint,omitzero"` // zero until the job has finished
	Rusage    Rusage     `json:"rusage" cbor:"7,keyasint,omitzero"`
	OOM       Tristate   `json:"oom" cbor:"8,keyasint,omitzero"`                 // whether the kernel's OOM killer ended a process of it
	Children  int32      `json:"background_children" cbor:"9,keyasint,omitzero"` // processes of it that still run
	Survivors []Survivor `json:"survivors" cbor:"10,keyasint,omitzero"`          // that could not be stopped, or LeftCgroup
	// Pipe has the statuses of the last pipeline of a command in a live bash or zsh, if one but
	// the last is not 0; nil: none, or unknown.
	Pipe []int `json:"pipe_statuses,omitempty" cbor:"11,keyasint,omitzero"`
}

// Status returns the exit status that the kernel gave, if it is known.
func (e End) Status() (s ExitStatus, known bool) {
	switch {
	case e.Signal != "":
		return ExitStatus{Signal: e.Signal, Number: SignalNumber(e.Signal)}, true
	case e.Code != nil:
		return ExitStatus{Code: *e.Code}, true
	}
	return ExitStatus{}, false
}

// SetStatus sets the exit status that the kernel gave.
func (e *End) SetStatus(s ExitStatus) {
	e.Code, e.Signal = nil, s.Signal
	if s.Signal == "" {
		e.Code = &s.Code
	}
}

// Shell returns the exit status as a shell reports it: the command's, 128+n after signal n,
// 126 or 127 if it failed to start, 125 if it is lost.
func (e End) Shell() int {
	switch s, known := e.Status(); {
	case known:
		return s.Shell()
	case e.Outcome == Lost:
		return 125
	case e.Outcome == FailedToStart && e.Err.Code == SpawnFailed && e.Err.Reason == "ENOENT":
		return 127
	case e.Outcome == FailedToStart:
		return 126
	}
	return 0
}

// SignalNumber parses "INT", "SIGINT" or "2"; 0: no such signal.
func SignalNumber(name string) int {
	if n, err := strconv.Atoi(name); err == nil {
		if n < 1 || n > 64 {
			return 0
		}
		return n
	}
	return int(unix.SignalNum("SIG" + strings.TrimPrefix(strings.ToUpper(name), "SIG")))
}

// Party is the part that ended a job.
type Party string

// The parties.
const (
	ByNone     Party = ""
	ByClient   Party = "client"   // StopCommand
	ByDeadline Party = "deadline" // its own
	ByIdle     Party = "idle"     // it wrote nothing for its idle timeout
	ByScope    Party = "scope"    // its session or scope was closed
	ByShutdown Party = "shutdown" // the node ends
	ByQuota    Party = "quota"    // its output reached a quota with the policy kill
	BySystem   Party = "system"   // the kernel's OOM killer, a sweep after a crash
)

// Cause is the party that ended a job, its reason, and the last signal that was sent. The
// first cause stays. The zero value belongs to a job that ended by itself.
type Cause struct {
	By     Party  `json:"by" cbor:"1,keyasint,omitzero"`
	Reason string `json:"reason,omitempty" cbor:"2,keyasint,omitzero"`
	Signal string `json:"signal,omitempty" cbor:"3,keyasint,omitzero"` // "TERM", "KILL"
}

// IdleCause returns the cause of a job that wrote nothing for its idle timeout.
func IdleCause(timeout time.Duration) Cause {
	return Cause{By: ByIdle, Reason: "it printed nothing for " + timeout.String()}
}

// OutcomeOf returns the outcome of a job that was stopped for c.
func (c Cause) OutcomeOf() Outcome {
	switch c.By {
	case ByDeadline, ByIdle:
		return TimedOut
	case ByNone:
		return Exited
	}
	return Cancelled
}

// Survivor is a process that could not be stopped. In the record of a job with live
// processes it is one that LeftCgroup describes.
type Survivor struct {
	PID   int    `json:"pid" cbor:"1,keyasint,omitzero"`
	State string `json:"state" cbor:"2,keyasint,omitzero"`           // as in /proc/PID/stat: "D", "Z"
	Wchan string `json:"wchan,omitempty" cbor:"3,keyasint,omitzero"` // the kernel function in which it sleeps
	Why   string `json:"why,omitempty" cbor:"4,keyasint,omitzero"`   // "left the process group", …
}

// LeftCgroup is the Why of a process that has left the cgroup of its job and runs on. A stop
// of the job ends it.
const LeftCgroup = "it left the cgroup of its job"

// Tristate is a truth value that may be unknown: null, true or false in JSON.
type Tristate int8

// The three values; the zero value is Unknown.
const (
	Unknown Tristate = iota
	No
	Yes
)

// Rusage is what a job's main process and its reaped children used. The zero value is
// unknown, as for a command in a live shell, whose processes belong to the shell.
type Rusage struct {
	User   time.Duration `json:"user_ms" cbor:"1,keyasint,omitzero"`
	System time.Duration `json:"sys_ms" cbor:"2,keyasint,omitzero"`
	MaxRSS int64         `json:"max_rss_kib" cbor:"3,keyasint,omitzero"`
}

// ExitStatus is the exit code of a process, or the signal that ended it.
type ExitStatus struct {
	Code   int    `cbor:"1,keyasint,omitzero"` // meaningful if Signal is ""
	Signal string `cbor:"2,keyasint,omitzero"` // "KILL", "SEGV"; without SIG
	Number int    `cbor:"3,keyasint,omitzero"` // the signal's number
}

// Shell returns the status as a shell reports it: 128+n for signal n.
func (s ExitStatus) Shell() int {
	if s.Signal != "" {
		return 128 + s.Number
	}
	return s.Code
}

// String returns "exit 3" or "signal KILL".
func (s ExitStatus) String() string {
	if s.Signal != "" {
		return "signal " + s.Signal
	}
	return "exit " + strconv.Itoa(s.Code)
}
