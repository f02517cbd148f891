package core

import (
	"fmt"
	"time"

	"troupe/messages"
)

// JobRecord is a job as a result shows it.
type JobRecord struct {
	JobID       string   `json:"job_id"`
	Name        string   `json:"name,omitempty"`
	Command     string   `json:"command"`
	Description string   `json:"description,omitempty"`
	Session     string   `json:"session,omitempty"`      // of a live shell
	State       string   `json:"state"`                  // queued, starting, running, stopping, draining or finished
	QueuedAfter string   `json:"queued_after,omitempty"` // the job whose end it waits for; the oldest, if the end of any will do
	WaitsFor    []string `json:"waits_for,omitempty"`    // the ends of jobs, locks and queues for which it waits before, with the jobs that have them
	Running     bool     `json:"running"`
	Background  bool     `json:"background,omitempty"`
	Outcome     string   `json:"outcome,omitempty"`     // how it ended: exited, signaled, timed_out, cancelled, failed_to_start or lost; nothing while it runs
	ExitCode    *int     `json:"exit_code"`             // null while it runs; its own, 128+n when signal n ended it, 124 timed out, 130 cancelled, 126 or 127 not executed, 125 lost
	Signal      string   `json:"signal,omitempty"`      // that ended it
	Cause       string   `json:"cause,omitempty"`       // who ended it, and why
	Waiting     string   `json:"waiting_for,omitempty"` // input: it waits for input; secret: for a password, on a terminal that shows nothing of it
	FullScreen  bool     `json:"full_screen,omitempty"` // its program has the whole screen of its terminal, or had it at its end
	DurationMS  int64    `json:"duration_ms"`
	Cwd         string   `json:"cwd,omitempty"`         // directory in which it began
	SessionCwd  string   `json:"session_cwd,omitempty"` // directory in which its session is now
	PID         int      `json:"pid,omitempty"`
	Flags       []string `json:"flags,omitempty"`         // what else is to be known, see docs/api.md
	Pipe        []int    `json:"pipe_statuses,omitempty"` // of the last pipeline of a live shell, where one but the last failed
	Survivors   []int    `json:"survivors,omitempty"`     // processes that could not be ended
	escaped     bool     // Survivors have left the cgroup of the job, and a stop ends them
	Outputs     []Stream `json:"outputs,omitempty"`
	Error       *Error   `json:"error,omitempty"`
}

// Stream describes one stream of a job.
type Stream struct {
	Stream   string `json:"stream"`
	Bytes    int64  `json:"bytes"`
	Artifact string `json:"artifact"` // the resource that is all of it
}

// Error is an error for machines and for people.
type Error struct {
	Code    string `json:"code"`
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message"`
	Hint    string `json:"hint,omitempty"`
}

// OutputExcerpt is the part of an output that a result shows.
type OutputExcerpt struct {
	Output    string `json:"-"`                   // in the text alone, which begins with it
	Screen    bool   `json:"screen,omitempty"`    // it is not of the output, but what the terminal shows
	Truncated bool   `json:"truncated,omitempty"` // there is more of it than is shown
	Stream    string `json:"stream,omitempty"`    // which; nothing: all there is
	From      int64  `json:"from"`                // the first byte that is shown
	Next      int64  `json:"next"`                // the byte behind the last one that is shown: from of a read that goes on. 0 where two streams are shown together
	Line      int64  `json:"line,omitempty"`      // number of the first line that is shown, where it is known
	Bytes     int64  `json:"bytes"`               // of the whole output
	Lines     int64  `json:"lines,omitempty"`     // of the whole output, where they are counted
	Matches   *int   `json:"matches,omitempty"`   // of a search: lines shown that match
	Cursor    string `json:"cursor,omitempty"`    // of a search: where it goes on; nothing: it has seen all
	Missing   []Gap  `json:"missing,omitempty"`   // ranges of bytes that were not kept, because the output outgrew its quota
}

// Gap is a range of an output whose bytes were not kept.
type Gap struct {
	From int64 `json:"from"`
	To   int64 `json:"to"`
}

// Notice reports the end of a job once to its client.
type Notice struct {
	JobID      string `json:"job_id"`
	Name       string `json:"name,omitempty"`
	Command    string `json:"command"`
	Outcome    string `json:"outcome"`
	ExitCode   int    `json:"exit_code"`
	Signal     string `json:"signal,omitempty"`
	Cause      string `json:"cause,omitempty"`
	DurationMS int64  `json:"duration_ms"`
	LastLine   string `json:"last_line,omitempty"` // of its output

	Job messages.Record `json:"-"`
}

// ResultNotices is the part that every result carries.
type ResultNotices struct {
	Notifications []Notice `json:"notifications,omitempty"` // jobs of yours that have ended since the last result; each end is told once
	Note          string   `json:"note,omitempty"`          // what happened, and what can be done next
}

// RunResult is the result of run, read and write.
type RunResult struct {
	JobRecord
	OutputExcerpt
	Shown int `json:"shown"` // how many bytes of the text are the output
	ResultNotices
}

// Jobs is the result of list.
type Jobs struct {
	Jobs     []JobRecord `json:"jobs"`
	Tasks    []Task      `json:"tasks,omitempty"`
	Sessions []Session   `json:"sessions,omitempty"`
	ResultNotices
}

// Task describes work that the host of the client runs itself, such as a sub-agent.
type Task struct {
	Task        string `json:"task"`
	Kind        string `json:"kind"`
	State       string `json:"state"`
	Ended       bool   `json:"ended,omitempty"`
	Description string `json:"description,omitempty"`
}

// Session describes a live shell.
type Session struct {
	Session string `json:"session"`
	Shell   string `json:"shell,omitempty"`
	Cwd     string `json:"cwd,omitempty"`
	Running int    `json:"running"`
	Queued  int    `json:"queued"`
}

// WaitResult is the result of wait.
type WaitResult struct {
	Satisfied  bool        `json:"satisfied"`
	TimedOut   bool        `json:"timed_out,omitempty"`  // the time is spent; the jobs go on
	Impossible bool        `json:"impossible,omitempty"` // a job has ended without what was waited for
	Jobs       []WaitedJob `json:"jobs"`
	ResultNotices
}

// WaitedJob is one job of a wait.
type WaitedJob struct {
	JobRecord
	Met       bool   `json:"met"`
	Output    string `json:"-"`                   // the end of what it wrote, in the text alone
	Truncated bool   `json:"truncated,omitempty"` // there is more of it than is shown
}

// StopResult is the result of stop.
type StopResult struct {
	Jobs      []JobRecord `json:"jobs"`
	Closed    string      `json:"closed,omitempty"`    // the session that was closed
	Survivors []int       `json:"survivors,omitempty"` // processes that could not be ended
	ResultNotices
}

// Screen is the result of screen.
type Screen struct {
	JobID     string   `json:"job_id"`
	Screen    []string `json:"-"`   // the rows of the terminal, without the blanks at their ends, in the text alone
	Row       int      `json:"row"` // of the cursor, from 0
	Col       int      `json:"col"`
	Rows      int      `json:"rows"`
	Cols      int      `json:"cols"`
	Alternate bool     `json:"alternate,omitempty"` // a program has the whole screen, as an editor
	Title     string   `json:"title,omitempty"`
	Running   bool     `json:"running"`
	ResultNotices
}

// Tell returns the record of a job as of now.
func Tell(j messages.Record, now time.Time) JobRecord {
	r := JobRecord{
		JobID: string(j.ID), Name: j.Name, Command: j.Command, Description: j.Description, State: string(j.State), Running: !j.State.Ended(),
		Background: j.Background, Outcome: string(j.End.Outcome), DurationMS: elapsed(j, now).Milliseconds(), Cwd: j.Dir, PID: j.PID,
	}
	if j.Backend == messages.BackendShell || j.Backend == messages.BackendShellPTY {
		r.Session = string(j.Session)
	}
	if j.State.Ended() {
		code := j.ExitCode()
		r.State, r.ExitCode, r.PID = string(messages.Finished), &code, 0
	}
	r.Signal, r.FullScreen, r.Pipe = j.End.Signal, j.FullScreen, j.End.Pipe
	if j.End.Cause != (messages.Cause{}) {
		r.Cause = cause(j.End.Cause)
	}
	switch {
	case j.WaitingForInput && j.WaitingForSecret:
		r.Waiting = "secret"
	case j.WaitingForInput:
		r.Waiting = "input"
	}
	for _, w := range j.WaitsFor {
		r.WaitsFor = append(r.WaitsFor, w.String())
	}
	for _, f := range j.Flags {
		r.Flags = append(r.Flags, string(f))
	}
	for _, s := range j.End.Survivors {
		r.Survivors = append(r.Survivors, s.PID)
		r.escaped = s.Why == messages.LeftCgroup
	}
	for _, o := range j.Output {
		r.Outputs = append(r.Outputs, Stream{o.Stream.String(), o.Bytes, Artifact(j.ID, o.Stream)})
	}
	if j.End.Err.Code != "" {
		r.Error = Fail(&j.End.Err)
	}
	return r
}

// Fail returns an error as a result shows it.
func Fail(e *messages.Error) *Error {
	return &Error{string(e.Code), e.Reason, e.Message, e.Hint}
}

// elapsed returns how long the job has run.
func elapsed(j messages.Record, now time.Time) time.Duration {
	if j.State.Ended() || j.Started.IsZero() {
		return j.Duration()
	}
	return now.Sub(j.Started)
}

func cause(c messages.Cause) string {
	by := map[messages.Party]string{
		messages.ByClient: "a client", messages.ByDeadline: "its deadline", messages.ByIdle: "its silence", messages.ByScope: "the end of its session or scope", messages.ByShutdown: "the end of troupe",
		messages.ByQuota: "its output, which outgrew its quota", messages.BySystem: "the system",
	}[c.By]
	if c.Reason != "" {
		return by + ": " + c.Reason
	}
	return by
}

// Page returns the excerpt for one view.
func Page(p messages.OutputPage) OutputExcerpt {
	s := OutputExcerpt{Output: p.Text, Truncated: p.Truncated, From: p.From, Next: p.To, Line: p.Line, Bytes: p.Bytes}
	if p.LinesExact {
		s.Lines = p.Lines
	}
	if p.Stream != messages.Merged {
		s.Stream = p.Stream.String()
	}
	for _, g := range p.Gaps {
		s.Missing = append(s.Missing, Gap(g))
	}
	return s
}

// Notify returns the notice of a job's end.
func Notify(j messages.Record) Notice {
	r := Tell(j, j.End.At)
	return Notice{
		JobID: r.JobID, Name: r.Name, Command: r.Command, Outcome: r.Outcome, ExitCode: j.ExitCode(), Signal: r.Signal, Cause: r.Cause,
		DurationMS: r.DurationMS, Job: j,
	}
}

// Artifact returns the URI of an output.
func Artifact(job messages.JobID, stream messages.Stream) string {
	return fmt.Sprintf("artifact://%s/%s", job, stream)
}

// Resource returns the URI of a job's record.
func Resource(job messages.JobID) string { return "job://" + string(job) }

// Carry sets the notices of a result.
func (t *ResultNotices) Carry(notices []Notice) { t.Notifications = notices }

// Carry sets the notices, and how much of the text is the output.
func (r *RunResult) Carry(notices []Notice) {
	r.ResultNotices.Carry(notices)
	r.Shown = len(r.Output)
}
