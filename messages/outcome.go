package messages

import (
	"strconv"
	"time"
)

// Outcome is how a job ended. A job has exactly one, set once.
type Outcome string

// The outcomes. The exit of the main process decides.
const (
	Exited        Outcome = "exited"          // by itself, with a code
	Signaled      Outcome = "signaled"        // by a signal that troupe did not send
	TimedOut      Outcome = "timed_out"       // stopped at its deadline
	Cancelled     Outcome = "cancelled"       // stopped for any other cause
	FailedToStart Outcome = "failed_to_start" // the program could not be executed
	Lost          Outcome = "lost"            // the engine does not know how it ended, and nothing of it is left
)

// Party is the part that ended a job.
type Party string

// The parties.
const (
	ByNone     Party = ""
	ByClient   Party = "client"   // StopCommand
	ByDeadline Party = "deadline" // its own
	ByScope    Party = "scope"    // its session or scope was closed
	ByShutdown Party = "shutdown" // the node ends
	ByQuota    Party = "quota"    // its output reached a quota with the policy kill
	BySystem   Party = "system"   // the kernel's OOM killer, a sweep after a crash
) // the kernel's OOM killer, or the cleanup after a crash

// Cause is the party that ended a job, its reason, and the last signal that was sent. The
// first cause stays. The zero value belongs to a job that ended by itself.
type Cause struct {
	By     Party  `json:"by"`
	Reason string `json:"reason,omitempty"`
	Signal string `json:"signal,omitempty"` // "TERM", "KILL"
}

// OutcomeOf returns the outcome of a job that was stopped for c.
func (c Cause) OutcomeOf() Outcome {
	switch c.By {
	case ByDeadline:
		return TimedOut
	case ByNone:
		return Exited
	}
	return Cancelled
}

// Survivor is a process that could not be stopped. In the record of a job with live
// processes it is one that LeftCgroup describes.
type Survivor struct {
	PID   int    `json:"pid"`
	State string `json:"state"`           // as in /proc/PID/stat: "D", "Z"
	Wchan string `json:"wchan,omitempty"` // the kernel function in which it sleeps
	Why   string `json:"why,omitempty"`   // "left the process group", …
}

// LeftCgroup is the Why of a process that has left the cgroup of its job and runs on. A stop
// of the job ends it.
const LeftCgroup = "it left the cgroup of its job"

// Tristate is a truth value that may be unknown.
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
	User, System time.Duration
	MaxRSS       int64 // KiB
}

// ExitStatus is the exit code of a process, or the signal that ended it.
type ExitStatus struct {
	Code   int    // meaningful if Signal is ""
	Signal string // "KILL", "SEGV"; without SIG
	Number int    // the signal's number
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
