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
// fact about a job carries it. It is never changed once it was sent: a part that needs
// another one copies it, with its slices.
type Job struct {
	V           Version   `json:"v"`
	ID          JobID     `json:"id"`
	UID         UID       `json:"uid"`
	Scope       ScopePath `json:"scope"`
	Session     SessionID `json:"session"`
	Principal   Principal `json:"-"`
	Name        string    `json:"name"`
	Tag         string    `json:"tag,omitzero"`
	Command     string    `json:"command"` // the text, or the arguments joined for display
	Argv        []string  `json:"argv"`
	Description string    `json:"description"`
	Mode        Mode      `json:"mode"`
	Backend     string    `json:"backend"`

	State      State `json:"state"`
	Background bool  `json:"background"`
	End        End   `json:",embed"`
	OutputOpen bool  `json:"output_open"`

	Flags      []Flag   `json:"flags"`
	EnvDropped []string `json:"env_dropped"`

	Timeout   time.Duration `json:"timeout_ms"`        // 0: none
	Deadline  time.Time     `json:"deadline,omitzero"` // zero: none
	PID       int           `json:"pid"`
	StartTime uint64        `json:"-"` // of the process, as in /proc
	Isolation Isolation     `json:"isolation,omitzero"`
	Dir       string        `json:"cwd"`
	Created   time.Time     `json:"created_at"`
	Started   time.Time     `json:"started_at"`

	WaitingForInput  bool     `json:"waiting_for_input"`
	WaitingForSecret bool     `json:"waiting_for_secret"` // waits for input on a terminal that does not echo
	Terminal         Terminal `json:"terminal"`           // last size set; zero: no terminal

	Output   []StreamOutput `json:"output"`
	OnFinish []Notice       `json:"on_finish,omitempty"` // notices of its end
	Seq      Seq            `json:"seq"`                 // of the last fact recorded about it
}

// StreamOutput is the size and place of one stream of a job.
type StreamOutput struct {
	Bytes      int64       `json:"bytes"`
	Lines      *int64      `json:"lines"` // nil: not counted
	LinesExact bool        `json:"lines_exact"`
	Stream     Stream      `json:"-"`
	File       string      `json:"file"` // "": in memory
	Elided     []OutputGap `json:"elided"`
}

// Duration returns how long the job ran, or 0 while it has not ended.
func (j Job) Duration() time.Duration {
	if j.Started.IsZero() || j.End.At.IsZero() {
		return 0
	}
	return j.End.At.Sub(j.Started)
}

// ExitCode returns the exit status of a CLI that ran the job (docs/cli.md). It is the
// command's own, or 128+n after signal n; 124 means timed out, 130 cancelled. 126 and 127
// mean that the program could not be executed. 125 means lost, or not started for a
// reason outside the command.
func (j Job) ExitCode() int {
	switch j.End.Outcome {
	case TimedOut:
		return 124
	case Cancelled:
		return 130
	case Lost:
		return 125
	case FailedToStart:
		if j.End.Err.Code != SpawnFailed {
			return 125
		}
		return j.End.Shell()
	case Exited, Signaled:
		return j.End.Shell()
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
