package messages

import (
	"slices"
	"time"
)

// State is the phase of a job.
type State string

// The states, in the order in which a job passes through them. Finished and Retired are
// final.
const (
	Queued   State = "queued"   // waits for its session or a start slot
	Starting State = "starting" // the engine is starting it
	Running  State = "running"  // in the foreground or background
	Stopping State = "stopping" // the engine is stopping it
	Draining State = "draining" // the main process has exited; its output is being drained
	Finished State = "finished" // its outcome is set
	Retired  State = "retired"  // finished, and no process or open output remains
)

// Ended reports whether a job in this state has its outcome.
func (s State) Ended() bool { return s == Finished || s == Retired }

// Mode is how a client asked for a job.
type Mode string

// The modes.
const (
	ModeSync     Mode = "sync"
	ModeAsync    Mode = "async"
	ModeDetached Mode = "detached"
)

// Job is the record of a job: the same in the CLI, HTTP, events and the library. Every
// fact about a job carries it. Records share their slices: clone a slice before you
// change it.
type Job struct {
	ID          JobID
	UID         UID
	Scope       ScopePath
	Session     SessionID
	Principal   Principal
	Tag         string
	Name        string
	Command     string // the text, or the arguments joined for display
	Argv        []string
	Description string
	Mode        Mode
	Backend     string

	State   State
	Outcome Outcome    // "" until the job has finished
	Status  ExitStatus // meaningful if Settled
	Shell   int        // exit status for a shell: the command's, 128+n, 126/127 if it failed to start
	Cause   Cause
	Err     Error // why it failed to start, or is lost

	Children   int
	Survivors  []Survivor
	Flags      []Flag
	EnvDropped []string

	Timeout   time.Duration // 0: none
	Deadline  time.Time     // zero: none
	PID       int
	StartTime uint64
	Isolation Isolation
	Dir       string
	Created   time.Time
	Started   time.Time
	Ended     time.Time
	Rusage    Rusage

	// The small fields stand together, which saves padding in every record.

	Terminal         Terminal // last size set; zero: no terminal
	OOM              Tristate
	Background       bool
	Settled          bool // the exit status from the kernel is known
	OutputOpen       bool
	WaitingForInput  bool
	WaitingForSecret bool // waits for input on a terminal that does not echo

	Output   []StreamOutput
	OnFinish []Notice // notices of its end
	Seq      Seq      // of the last fact recorded about it
}

// StreamOutput is the size and place of one stream of a job.
type StreamOutput struct {
	Stream     Stream
	Counted    bool
	LinesExact bool
	Bytes      int64
	Lines      int64  // meaningful if Counted
	File       string // "": in memory
	Elided     []OutputGap
}

// Duration returns how long the job ran, or 0 while it has not ended.
func (j Job) Duration() time.Duration {
	if j.Started.IsZero() || j.Ended.IsZero() {
		return 0
	}
	return j.Ended.Sub(j.Started)
}

// ExitCode returns the exit status of a CLI that ran the job (docs/cli.md). It is the
// command's own, or 128+n after signal n; 124 means timed out, 130 cancelled. 126 and 127
// mean that the program could not be executed. 125 means lost, or not started for a
// reason outside the command.
func (j Job) ExitCode() int {
	switch j.Outcome {
	case TimedOut:
		return 124
	case Cancelled:
		return 130
	case Lost:
		return 125
	case FailedToStart:
		if j.Err.Code != SpawnFailed {
			return 125
		}
		return j.Shell
	case Exited, Signaled:
		return j.Shell
	}
	return 0
}

// Kept reports whether the job stays when the client of its scope leaves: it is detached,
// or was promoted with Keep.
func (j Job) Kept() bool { return j.Mode == ModeDetached || j.HasFlag(FlagKept) }

// HasFlag reports whether the record has a flag.
func (j Job) HasFlag(f Flag) bool {
	return slices.Contains(j.Flags, f)
}
