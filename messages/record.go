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
	ModeSync     Mode = "sync"     // the client waits for the end; "" is the same in a request
	ModeAsync    Mode = "async"    // the reply is CommandPromoted, when it has started or is queued in its session
	ModeDetached Mode = "detached" // as ModeAsync, in a keeper of its own that outlives the node and its keeper
)

// Background reports whether the client of such a job does not wait for its end.
func (m Mode) Background() bool { return m == ModeAsync || m == ModeDetached }

// Record is what is known of a job: the same in the CLI, HTTP, events and the library. Every
// fact about a job carries it. It is never changed once it was sent: a part that needs
// another one copies it, with its slices.
//
// JSON, journal and clients read its tags, so a new field is a line here and one in
// internal/journal/testdata/keys.txt, which has the keys that are taken. Fields of one theme are
// a struct with one key, as Labels and End are: what a job waits for, and what it repeats, are
// such themes. Command is for display; the request has the text or the arguments that run.
type Record struct {
	V       Version   `json:"v" cbor:"-"`
	ID      JobID     `json:"id" cbor:"1,keyasint,omitzero"`
	UID     UID       `json:"uid" cbor:"2,keyasint,omitzero"`
	Scope   ScopePath `json:"scope" cbor:"3,keyasint,omitzero"`
	Session SessionID `json:"session" cbor:"4,keyasint,omitzero"`
	Labels  `cbor:"5,keyasint,omitzero"`
	Command string   `json:"command" cbor:"6,keyasint,omitzero"` // the text, or the arguments joined for display
	Argv    []string `json:"argv" cbor:"7,keyasint,omitzero"`
	Mode    Mode     `json:"mode" cbor:"8,keyasint,omitzero"`
	Backend string   `json:"backend" cbor:"9,keyasint,omitzero"`

	State      State `json:"state" cbor:"10,keyasint,omitzero"`
	Background bool  `json:"background" cbor:"11,keyasint,omitzero"`
	End        End   `json:",embed" cbor:"12,keyasint,omitzero"`
	OutputOpen bool  `json:"output_open" cbor:"13,keyasint,omitzero"`

	Flags      []Flag   `json:"flags" cbor:"14,keyasint,omitzero"`
	EnvDropped []string `json:"env_dropped" cbor:"15,keyasint,omitzero"`

	Timeout   time.Duration `json:"timeout_ms" cbor:"16,keyasint,omitzero"`        // 0: none
	Deadline  time.Time     `json:"deadline,omitzero" cbor:"17,keyasint,omitzero"` // zero: none
	PID       int           `json:"pid" cbor:"18,keyasint,omitzero"`
	StartTime uint64        `json:"-" cbor:"19,keyasint,omitzero"` // of the process, as in /proc
	Isolation Isolation     `json:"isolation,omitzero" cbor:"20,keyasint,omitzero"`
	Dir       string        `json:"cwd" cbor:"21,keyasint,omitzero"`
	Created   time.Time     `json:"created_at" cbor:"22,keyasint,omitzero"`
	Started   time.Time     `json:"started_at" cbor:"23,keyasint,omitzero"`

	WaitingForInput  bool     `json:"waiting_for_input" cbor:"24,keyasint,omitzero"`
	WaitingForSecret bool     `json:"waiting_for_secret" cbor:"25,keyasint,omitzero"` // waits for input on a terminal that does not echo
	Terminal         Terminal `json:"terminal" cbor:"26,keyasint,omitzero"`           // last size set; zero: no terminal
	FullScreen       bool     `json:"full_screen,omitzero" cbor:"-"`                  // its terminal shows the alternate screen; only in the reply to FindJob

	Output   []StreamOutput `json:"output" cbor:"27,keyasint,omitzero"`
	OnFinish []Notice       `json:"on_finish,omitempty" cbor:"28,keyasint,omitzero"` // notices of its end
	Seq      Seq            `json:"seq" cbor:"29,keyasint,omitzero"`                 // of the last fact recorded about it

	StopSignal string `json:"stop_signal,omitzero" cbor:"30,keyasint,omitzero"` // begins a stop, as in the request; "": TERM

	Live *LiveState `json:"live,omitzero" cbor:"-"` // nil: not asked for, or not known

	At time.Time `json:"-" cbor:"31,keyasint,omitzero"` // of the fact with the number Seq; in JSON that of the event

	WaitsFor []WaitsFor `json:"waits_for,omitempty" cbor:"-"`                 // of a queued job, beside its start slot; only in replies
	Faults   []string   `json:"faults,omitempty" cbor:"33,keyasint,omitzero"` // of a plan (package faults) that touched it, the first ones

	Request *RequestTerms `json:"request,omitzero" cbor:"32,keyasint,omitzero"` // what else is kept of the request; never changed; nil: recorded by an older build
}

// StreamOutput is the size and place of one stream of a job.
type StreamOutput struct {
	Bytes      int64       `json:"bytes" cbor:"1,keyasint,omitzero"`
	Lines      *int64      `json:"lines" cbor:"2,keyasint,omitzero"` // nil: not counted
	LinesExact bool        `json:"lines_exact" cbor:"3,keyasint,omitzero"`
	Stream     Stream      `json:"-" cbor:"4,keyasint,omitzero"`
	File       string      `json:"file" cbor:"5,keyasint,omitzero"` // "": in memory
	Elided     []OutputGap `json:"elided" cbor:"6,keyasint,omitzero"`
}

// Duration returns how long the job ran, or 0 while it has not ended.
func (j Record) Duration() time.Duration {
	if j.Started.IsZero() || j.End.At.IsZero() {
		return 0
	}
	return j.End.At.Sub(j.Started)
}

// ExitCode returns the exit status of a CLI that ran the job (docs/cli.md). It is the
// command's own, or 128+n after signal n; 124 means timed out, 130 cancelled. 126 and 127
// mean that the program could not be executed. 125 means lost, or not started for a
// reason outside the command.
func (j Record) ExitCode() int {
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

// IdleTimeout returns for how long the job may write nothing; 0: for ever.
func (j Record) IdleTimeout() time.Duration {
	if j.Request == nil {
		return 0
	}
	return j.Request.IdleTimeout
}

// RerunOf returns the job whose command this one runs again; "": none.
func (j Record) RerunOf() UID {
	if j.Request == nil {
		return ""
	}
	return j.Request.RerunOf
}

// Kept reports whether the job stays when the client of its scope leaves: it is detached,
// or was promoted with Keep.
func (j Record) Kept() bool { return j.Mode == ModeDetached || j.HasFlag(FlagKept) }

// HasFlag reports whether the record has a flag.
func (j Record) HasFlag(f Flag) bool {
	return slices.Contains(j.Flags, f)
}
