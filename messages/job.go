package messages

import "time"

// State is where a job stands.
type State string

// The states, in the order a job passes through them. The last two are for ever.
const (
	Queued   State = "queued"   // waits for its session or its turn
	Starting State = "starting" // the engine was asked
	Running  State = "running"  // foreground or background
	Stopping State = "stopping" // being ended
	Draining State = "draining" // the main process has exited, its output is collected
	Finished State = "finished" // its outcome is set
	Retired  State = "retired"  // and nothing of it is left
)

// Ended reports whether a job in this state has its outcome.
func (s State) Ended() bool { return s == Finished || s == Retired }

// Mode says how a job was asked for.
type Mode string

// The modes.
const (
	ModeSync     Mode = "sync"
	ModeAsync    Mode = "async"
	ModeDetached Mode = "detached"
)

// Job is the record of a job: the same in the CLI, HTTP, events and the
// library. Every fact about a job carries it, so that no one has to ask again.
// Slices are never changed once the record was sent, and others have the same ones:
// who gets a record and wants another clones them.
type Job struct {
	ID          JobID
	UID         UID
	Scope       ScopePath
	Session     SessionID
	Principal   Principal
	Tag         string
	Name        string
	Command     string // the text, or the words joined for people
	Argv        []string
	Description string
	Mode        Mode
	Backend     string

	State   State
	Outcome Outcome    // "" until Finished
	Status  ExitStatus // meaningful when Settled
	Shell   int        // exit status for a shell: the command's, 128+n, 126/127 for one that failed to start
	Cause   Cause
	Err     Error // why it failed to start, or why it is lost

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

	// What is small stands together: of many jobs, every record counts.

	Terminal         Terminal // its size as it was last set; the zero value: none
	OOM              Tristate
	Background       bool
	Settled          bool // the kernel's status is known
	OutputOpen       bool
	WaitingForInput  bool
	WaitingForSecret bool // … on a terminal that shows nothing of it

	Output   []StreamOutput
	OnFinish []Notice // who is told of its end
	Seq      Seq      // of the last fact recorded about it
}

// StreamOutput is what is known of one stream of a job.
type StreamOutput struct {
	Stream     Stream
	Counted    bool
	LinesExact bool
	Bytes      int64
	Lines      int64  // meaningful when Counted
	File       string // "": in memory
	Elided     []OutputGap
}

// Duration is how long the job ran, or 0 while that is not known.
func (j Job) Duration() time.Duration {
	if j.Started.IsZero() || j.Ended.IsZero() {
		return 0
	}
	return j.Ended.Sub(j.Started)
}

// ExitCode is the exit status of a CLI that ran the job (docs/cli.md): the
// command's own, 128+n when a signal ended it, 124 timed out, 130 cancelled,
// 126 or 127 when it could not be executed, 125 lost, or not started for a reason
// that is none of the command's.
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

// Kept reports whether the job stays when the client leaves whose scope it is in: it is
// detached, or somebody has promoted it to stay.
func (j Job) Kept() bool { return j.Mode == ModeDetached || j.HasFlag(FlagKept) }

// HasFlag reports whether the record carries a flag.
func (j Job) HasFlag(f Flag) bool {
	for _, g := range j.Flags {
		if g == f {
			return true
		}
	}
	return false
}
