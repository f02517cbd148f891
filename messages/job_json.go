package messages

import (
	"bytes"
	"encoding/json"
	"time"
)

// JSONVersion is the "v" of every object: it changes when a field changes its
// meaning, never when one is added.
const JSONVersion = 1

// jobJSON is the job object of design.md 7. Absent values are null, lists are
// never null, times are RFC 3339 in UTC with nanoseconds.
type jobJSON struct {
	V           int            `json:"v"`
	ID          JobID          `json:"id"`
	UID         UID            `json:"uid"`
	Scope       ScopePath      `json:"scope"`
	Session     SessionID      `json:"session"`
	Name        *string        `json:"name"`
	Tag         *string        `json:"tag,omitempty"`
	Command     string         `json:"command"`
	Argv        []string       `json:"argv"`
	Description string         `json:"description"`
	Mode        Mode           `json:"mode"`
	Backend     string         `json:"backend"`
	State       State          `json:"state"`
	Background  bool           `json:"background"`
	Outcome     *Outcome       `json:"outcome"`
	ExitCode    *int           `json:"exit_code"`
	Signal      *string        `json:"signal"`
	Cause       *Cause         `json:"cause"`
	Error       *Error         `json:"error"`
	OOM         *bool          `json:"oom"`
	OutputOpen  bool           `json:"output_open"`
	Children    int            `json:"background_children"`
	Survivors   []Survivor     `json:"survivors"`
	Flags       []Flag         `json:"flags"`
	EnvDropped  []string       `json:"env_dropped"`
	TimeoutMS   *int64         `json:"timeout_ms"`
	Deadline    *time.Time     `json:"deadline,omitempty"`
	PID         *int           `json:"pid"`
	Isolation   Isolation      `json:"isolation,omitempty"`
	Dir         string         `json:"cwd"`
	Created     *time.Time     `json:"created_at"`
	Started     *time.Time     `json:"started_at"`
	Ended       *time.Time     `json:"finished_at"`
	DurationMS  *int64         `json:"duration_ms"`
	Rusage      *rusageJSON    `json:"rusage"`
	Waiting     bool           `json:"waiting_for_input"`
	Output      map[string]any `json:"output"`
	OnFinish    []noticeJSON   `json:"on_finish,omitempty"`
	Seq         Seq            `json:"seq"`
}

type rusageJSON struct {
	UserMS int64 `json:"user_ms"`
	SysMS  int64 `json:"sys_ms"`
	MaxRSS int64 `json:"max_rss_kib"`
}

type noticeJSON struct {
	To    string      `json:"to"`
	State NoticeState `json:"state"`
	Seq   Seq         `json:"seq"`
	Tries int         `json:"tries"`
	Error *Error      `json:"error"`
}

type streamJSON struct {
	Bytes      int64       `json:"bytes"`
	Lines      *int64      `json:"lines"`
	LinesExact bool        `json:"lines_exact"`
	File       *string     `json:"file"`
	Elided     []OutputGap `json:"elided"`
}

// MarshalJSON writes the job object of design.md 7. Whether & and < in it are
// escaped is the choice of the encoder that asks.
func (j Job) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(j.object())
	return b.Bytes(), err
}

func (j Job) object() jobJSON {
	o := jobJSON{
		V: JSONVersion, ID: j.ID, UID: j.UID, Scope: j.Scope, Session: j.Session,
		Name: orNull(j.Name), Tag: orNull(j.Tag), Command: j.Command, Argv: j.Argv, Description: j.Description,
		Mode: j.Mode, Backend: j.Backend, State: j.State.shown(), Background: j.Background,
		Outcome: orNull(j.Outcome), Cause: orNull(j.Cause), Error: orNull(j.Err),
		OutputOpen: j.OutputOpen, Children: j.Children,
		Survivors: orEmpty(j.Survivors), Flags: orEmpty(j.Flags), EnvDropped: orEmpty(j.EnvDropped),
		TimeoutMS: milliseconds(j.Timeout, j.Timeout > 0), Deadline: utc(j.Deadline),
		PID: orNull(j.PID), Isolation: j.Isolation, Dir: j.Dir,
		Created: utc(j.Created), Started: utc(j.Started), Ended: utc(j.Ended),
		DurationMS: milliseconds(j.Duration(), !j.Started.IsZero() && !j.Ended.IsZero()),
		Waiting:    j.WaitingForInput, Output: map[string]any{}, Seq: j.Seq,
	}
	if j.Settled {
		o.Rusage = &rusageJSON{j.Rusage.User.Milliseconds(), j.Rusage.System.Milliseconds(), j.Rusage.MaxRSS}
		o.Signal = orNull(j.Status.Signal)
		if j.Status.Signal == "" {
			o.ExitCode = &j.Status.Code
		}
	}
	if j.OOM != Unknown {
		oom := j.OOM == Yes
		o.OOM = &oom
	}
	for _, s := range j.Output {
		o.Output[s.Stream.String()] = s.object()
	}
	for _, n := range j.OnFinish {
		o.OnFinish = append(o.OnFinish, noticeJSON{n.To, n.State, n.Seq, n.Tries, orNull(n.Err)})
	}
	return o
}

// shown is the state a user is told: retirement is a matter of housekeeping.
func (s State) shown() State {
	if s == Retired {
		return Finished
	}
	return s
}

func (s StreamOutput) object() streamJSON {
	o := streamJSON{Bytes: s.Bytes, LinesExact: s.LinesExact, File: orNull(s.File), Elided: orEmpty(s.Elided)}
	if s.Counted {
		o.Lines = &s.Lines
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
