package messages_test

import (
	"time"

	"troupe/messages"
)

// jobJSON is the job object of docs/cli.md. Absent values are null, lists are
// never null, times are RFC 3339 in UTC with nanoseconds.
type jobJSON struct {
	V           int                 `json:"v"`
	ID          messages.JobID      `json:"id"`
	UID         messages.UID        `json:"uid"`
	Scope       messages.ScopePath  `json:"scope"`
	Session     messages.SessionID  `json:"session"`
	Name        *string             `json:"name"`
	Tag         *string             `json:"tag,omitempty"`
	Command     string              `json:"command"`
	Argv        []string            `json:"argv"`
	Description string              `json:"description"`
	StopSignal  string              `json:"stop_signal,omitempty"`
	Mode        messages.Mode       `json:"mode"`
	Backend     string              `json:"backend"`
	State       messages.State      `json:"state"`
	Background  bool                `json:"background"`
	Outcome     *messages.Outcome   `json:"outcome"`
	ExitCode    *int                `json:"exit_code"`
	Signal      *string             `json:"signal"`
	Pipe        []int               `json:"pipe_statuses,omitempty"`
	Cause       *messages.Cause     `json:"cause"`
	Error       *messages.Error     `json:"error"`
	OOM         *bool               `json:"oom"`
	OutputOpen  bool                `json:"output_open"`
	Children    int                 `json:"background_children"`
	Survivors   []messages.Survivor `json:"survivors"`
	Flags       []messages.Flag     `json:"flags"`
	EnvDropped  []string            `json:"env_dropped"`
	TimeoutMS   *int64              `json:"timeout_ms"`
	Deadline    *time.Time          `json:"deadline,omitempty"`
	PID         *int                `json:"pid"`
	Isolation   messages.Isolation  `json:"isolation,omitempty"`
	Dir         string              `json:"cwd"`
	Created     *time.Time          `json:"created_at"`
	Started     *time.Time          `json:"started_at"`
	Ended       *time.Time          `json:"finished_at"`
	DurationMS  *int64              `json:"duration_ms"`
	Rusage      *rusageJSON         `json:"rusage"`
	Waiting     bool                `json:"waiting_for_input"`
	Secret      bool                `json:"waiting_for_secret"`
	Terminal    *messages.Terminal  `json:"terminal"`
	FullScreen  bool                `json:"full_screen,omitempty"`
	Output      map[string]any      `json:"output"`
	OnFinish    []noticeJSON        `json:"on_finish,omitempty"`
	Live        *liveJSON           `json:"live,omitempty"`
	Seq         messages.Seq        `json:"seq"`
	WaitsFor    []waitJSON          `json:"waits_for,omitempty"`
	Faults      []string            `json:"faults,omitempty"`
}

type waitJSON struct {
	Kind messages.WaitKind `json:"kind"`
	Name string            `json:"name,omitempty"`
	On   messages.AfterEnd `json:"on,omitempty"`
	Jobs *[]messages.JobID `json:"jobs,omitempty"`
}

type liveJSON struct {
	Awaiting  messages.Awaiting `json:"awaiting,omitempty"`
	CPUMS     int64             `json:"cpu_ms"`
	Memory    int64             `json:"memory_bytes"`
	Processes int               `json:"processes"`
	Ports     any               `json:"ports,omitempty"`
}

type rusageJSON struct {
	UserMS int64 `json:"user_ms"`
	SysMS  int64 `json:"sys_ms"`
	MaxRSS int64 `json:"max_rss_kib"`
}

type noticeJSON struct {
	To    string               `json:"to"`
	State messages.NoticeState `json:"state"`
	Seq   messages.Seq         `json:"seq"`
	Tries int                  `json:"tries"`
	Error *messages.Error      `json:"error"`
}

type streamJSON struct {
	Bytes      *int64               `json:"bytes"`
	Lines      *int64               `json:"lines"`
	LinesExact bool                 `json:"lines_exact"`
	File       *string              `json:"file"`
	Elided     []messages.OutputGap `json:"elided"`
}

func referenceOf(j messages.Record) jobJSON {
	state := j.State
	if state == messages.Retired {
		state = messages.Finished
	}
	o := jobJSON{
		V: messages.JSONVersion, ID: j.ID, UID: j.UID, Scope: j.Scope, Session: j.Session,
		Name: orNull(j.Name), Tag: orNull(j.Tag), Command: j.Command, Argv: j.Argv, Description: j.Description, StopSignal: j.StopSignal,
		Mode: j.Mode, Backend: j.Backend, State: state, Background: j.Background,
		Outcome: orNull(j.End.Outcome), Cause: orNull(j.End.Cause), Error: orNull(j.End.Err),
		OutputOpen: j.OutputOpen, Children: int(j.End.Children),
		Survivors: orEmpty(j.End.Survivors), Flags: orEmpty(j.Flags), EnvDropped: orEmpty(j.EnvDropped),
		TimeoutMS: milliseconds(j.Timeout, j.Timeout >= time.Millisecond), Deadline: utc(j.Deadline),
		PID: orNull(j.PID), Isolation: j.Isolation, Dir: j.Dir,
		Created: utc(j.Created), Started: utc(j.Started), Ended: utc(j.End.At),
		DurationMS: milliseconds(j.Duration(), !j.Started.IsZero() && !j.End.At.IsZero()),
		Waiting:    j.WaitingForInput, Secret: j.WaitingForSecret, Terminal: orNull(j.Terminal), FullScreen: j.FullScreen, Output: map[string]any{}, Seq: j.Seq,
	}
	if j.End.Rusage != (messages.Rusage{}) {
		o.Rusage = &rusageJSON{j.End.Rusage.User.Milliseconds(), j.End.Rusage.System.Milliseconds(), j.End.Rusage.MaxRSS}
	}
	o.Signal, o.ExitCode, o.Pipe = orNull(j.End.Signal), j.End.Code, j.End.Pipe
	if j.End.OOM != messages.Unknown {
		oom := j.End.OOM == messages.Yes
		o.OOM = &oom
	}
	for _, s := range j.Output {
		o.Output[s.Stream.String()] = streamOf(s, j.HasFlag(messages.FlagOutputLost))
	}
	if now := j.Live; now != nil {
		o.Live = &liveJSON{Awaiting: now.Awaiting, CPUMS: now.CPU.Milliseconds(), Memory: now.Memory, Processes: now.Processes}
		if now.Ports != nil {
			o.Live.Ports = now.Ports
		}
	}
	for _, w := range j.WaitsFor {
		jobs := &w.Jobs
		if w.Jobs == nil {
			jobs = nil
		}
		o.WaitsFor = append(o.WaitsFor, waitJSON{w.Kind, w.Name, w.On, jobs})
	}
	o.Faults = j.Faults
	for _, n := range j.OnFinish {
		o.OnFinish = append(o.OnFinish, noticeJSON{n.To, n.State, n.Seq, n.Tries, orNull(n.Err)})
	}
	return o
}

func streamOf(s messages.StreamOutput, lost bool) streamJSON {
	o := streamJSON{Bytes: &s.Bytes, Lines: s.Lines, LinesExact: s.LinesExact, File: orNull(s.File), Elided: orEmpty(s.Elided)}
	if lost && s.Bytes == 0 {
		o.Bytes = nil
	}
	return o
}

// orNull is nil for the zero value: null in JSON.
func orNull[T comparable](v T) *T {
	var zero T
	if v == zero {
		return nil
	}
	return &v
}

// orEmpty is never nil: [] in JSON.
func orEmpty[T any](v []T) []T {
	if v == nil {
		return []T{}
	}
	return v
}

func milliseconds(d time.Duration, known bool) *int64 {
	if !known {
		return nil
	}
	ms := d.Milliseconds()
	return &ms
}

func utc(t time.Time) *time.Time {
	if t.IsZero() {
		return nil
	}
	t = t.UTC().Round(0)
	return &t
}
