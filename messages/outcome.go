package messages

import (
	"strconv"
	"time"
)

// Outcome says how a job ended. A job has exactly one, set once.
type Outcome string

// The outcomes. Completion is decided by the exit of the main process.
const (
	Exited        Outcome = "exited"          // by itself, with a code
	Signaled      Outcome = "signaled"        // by a signal that was not ours
	TimedOut      Outcome = "timed_out"       // stopped by its deadline
	Cancelled     Outcome = "cancelled"       // stopped by somebody
	FailedToStart Outcome = "failed_to_start" // the program could not be executed
	Lost          Outcome = "lost"            // the engine no longer knows it, and nothing of it is left
)

// Party is who ended a job.
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
)

// Cause says who ended a job, why, and the last signal that was sent for it.
// The first cause stays. The zero Cause is a job that ended by itself.
type Cause struct {
	By     Party  `json:"by"`
	Reason string `json:"reason,omitempty"`
	Signal string `json:"signal,omitempty"` // "TERM", "KILL"
}

// OutcomeOf names the outcome of a job that was stopped for c.
func (c Cause) OutcomeOf() Outcome {
	switch c.By {
	case ByDeadline:
		return TimedOut
	case ByNone:
		return Exited
	}
	return Cancelled
}

// Survivor is a process that could not be ended, and what it waits for.
type Survivor struct {
	PID   int    `json:"pid"`
	State string `json:"state"`           // as in /proc/PID/stat: "D", "Z"
	Wchan string `json:"wchan,omitempty"` // the kernel function it sleeps in
	Why   string `json:"why,omitempty"`   // "left the process group", …
}

// Tristate is a fact that may not be known.
type Tristate int8

// The three states; the zero value is Unknown.
const (
	Unknown Tristate = iota
	No
	Yes
)

// Rusage is what a job's main process and its reaped children used; the zero value
// is unknown: that of a command in a live shell, whose processes are the shell's.
type Rusage struct {
	User, System time.Duration
	MaxRSS       int64 // KiB
}

// ExitStatus is a process's end: a code, or the signal that ended it.
type ExitStatus struct {
	Code   int    // meaningful when Signal is ""
	Signal string // "KILL", "SEGV"; without SIG
	Number int    // the signal's number
}

// Shell is the status as a shell reports it: 128+n for signal n.
func (s ExitStatus) Shell() int {
	if s.Signal != "" {
		return 128 + s.Number
	}
	return s.Code
}

// String is "exit 3" or "signal KILL".
func (s ExitStatus) String() string {
	if s.Signal != "" {
		return "signal " + s.Signal
	}
	return "exit " + strconv.Itoa(s.Code)
}
