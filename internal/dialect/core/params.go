package core

import (
	"fmt"
	"strings"
	"time"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// Read holds the parameters of the tool read. With line or head it asks for a page, with
// tail or nothing for the end, with from for the bytes from an offset on.
type Read struct {
	JobID       string   `json:"job_id" doc:"id or name"`
	Stream      string   `json:"stream,omitempty" doc:"of a job that keeps them apart (stdout)" enum:"merged,stdout,stderr"`
	Line        int64    `json:"line,omitempty" doc:"first line of a page, from 1"`
	Limit       int      `json:"limit,omitempty" doc:"lines of the page (200)"`
	Head        int      `json:"head,omitempty" doc:"first lines; with an equal tail: both ends"`
	Tail        int      `json:"tail,omitempty" doc:"last lines"`
	From        *int64   `json:"from,omitempty" doc:"byte to begin at: next of a result"`
	MaxBytes    int      `json:"max_bytes,omitempty" doc:"most bytes to show"`
	WaitSeconds *float64 `json:"wait_seconds,omitempty" doc:"with from: wait for more or the end (0, at most 55)"`
	Pattern     string   `json:"pattern,omitempty" doc:"show only matching lines, numbered (RE2)"`
	Context     int      `json:"context,omitempty" doc:"with pattern: lines around each"`
	Cursor      string   `json:"cursor,omitempty" doc:"with pattern: go on, cursor of a result"`
}

// search returns the view of the lines that match the pattern.
func (p Read) search(most int) (messages.View, *messages.Error) {
	v := messages.View{Kind: messages.ViewMatches, Pattern: p.Pattern, Context: p.Context, Cursor: p.Cursor, Bytes: most}
	if p.Line != 0 || p.Limit != 0 || p.Head != 0 || p.Tail != 0 || p.From != nil || p.WaitSeconds != nil {
		return v, messages.Invalid("pattern", "pattern searches the whole output: leave out line, limit, head, tail, from and wait_seconds")
	}
	return v, v.CheckMatches()
}

// Limits of the output in one result.
const (
	DefaultBytes = 20_000 // well below the 25,000 tokens that Claude Code accepts in a result
	defaultLines = 200
)

// Bytes returns the limit of a result's output, in bytes.
func Bytes(given int) (int, *messages.Error) {
	switch {
	case given == 0:
		return DefaultBytes, nil
	case given < 0 || given > messages.MaxViewBytes:
		return 0, messages.Invalid("max_bytes", fmt.Sprintf("max_bytes is %d; it must be from 1 to %d", given, messages.MaxViewBytes))
	}
	return given, nil
}

// View returns the view of the parameters, which is never one by bytes.
func (p Read) View() (messages.View, *messages.Error) {
	most, err := Bytes(p.MaxBytes)
	v := messages.View{Kind: messages.ViewTail, Bytes: most}
	page := p.Line != 0 || p.Limit != 0
	switch {
	case err != nil:
	case p.Pattern != "":
		return p.search(most)
	case p.Context != 0 || p.Cursor != "":
		err = messages.Invalid("pattern", "context and cursor go with pattern; give one")
	case p.Line < 0 || p.Limit < 0 || p.Head < 0 || p.Tail < 0:
		err = messages.Invalid("line", "line, limit, head and tail are numbers of lines, from 1")
	case p.From != nil && (page || p.Head > 0 || p.Tail > 0):
		err = messages.Invalid("from", "from names a byte, and line, limit, head and tail name lines; give one of them")
	case p.From != nil && *p.From < 0:
		err = messages.Invalid("from", fmt.Sprintf("from is %d; it must be a byte of the output, from 0", *p.From))
	case p.From == nil && p.WaitSeconds != nil:
		err = messages.Invalid("wait_seconds", "only with from there is something to wait for: give the next of the last result, or use the tool wait")
	case page && (p.Head > 0 || p.Tail > 0):
		err = messages.Invalid("line", "a page (line, limit) is another view than head and tail; ask for one of them")
	case page:
		v.Kind, v.Offset, v.Lines = messages.ViewPage, max(1, p.Line), p.Limit
		if v.Lines == 0 {
			v.Lines = defaultLines
		}
	case p.Head > 0 && p.Tail > 0 && p.Head != p.Tail:
		err = messages.Invalid("head", "a view of both ends shows as many lines of each; give head and tail the same number")
	case p.Head > 0 && p.Tail > 0:
		v.Kind, v.Lines = messages.ViewHeadTail, p.Head
	case p.Head > 0:
		v.Kind, v.Offset, v.Lines = messages.ViewPage, 1, p.Head
	case p.Tail > 0:
		v.Kind, v.Lines = messages.ViewTailLine, p.Tail
	}
	return v, err
}

// Write holds the parameters of the tool write.
type Write struct {
	JobID       string   `json:"job_id" doc:"id or name"`
	Text        string   `json:"text,omitempty" doc:"bytes as they are; end a line with a newline"`
	Keys        string   `json:"keys,omitempty" doc:"text and {enter} {tab} {esc} {up} {ctrl+c}, or <C-c> <F5>"`
	Paste       string   `json:"paste,omitempty" doc:"text to paste"`
	EOF         bool     `json:"eof,omitempty" doc:"then close standard input"`
	WaitSeconds *float64 `json:"wait_seconds,omitempty" doc:"wait for an answer, the next prompt or the end (5, at most 55)"`
	MaxBytes    int      `json:"max_bytes,omitempty" doc:"most bytes to show"`
}

// DefaultAnswer bounds the wait of a write for an answer. The answer is complete when the
// job has been quiet for Quiet: longer than a program pauses between two lines, too short
// to notice. QuietReader is used for a job that was seen waiting for input. There the next
// wait for input is the better sign: on a terminal, silence starts with the echo.
const (
	DefaultAnswer = 5 * time.Second
	Quiet         = 300 * time.Millisecond
	QuietReader   = 2 * time.Second
)

// Check returns what is wrong with the parameters, or nil.
func (p Write) Check() *messages.Error {
	given := 0
	for _, is := range []bool{p.Text != "", p.Keys != "", p.Paste != ""} {
		if is {
			given++
		}
	}
	switch {
	case given > 1:
		return messages.Invalid("text", "text, keys and paste are three ways to write; give one of them")
	case given == 0 && !p.EOF:
		return messages.Invalid("text", "there is nothing to write; give text, keys or paste, or eof")
	}
	_, err := Bytes(p.MaxBytes)
	return err
}

// Interrupts reports whether Ctrl-C is among the input.
func (p Write) Interrupts() bool {
	typed, _ := shelltext.EncodeKeys(p.Keys, shelltext.KeyMode{Pipe: true}) // unknown keys were refused
	return strings.Contains(p.Text+p.Paste+string(typed), "\x03")
}

// Answer returns how long to wait for an answer.
func (p Write) Answer() (time.Duration, *messages.Error) {
	if p.WaitSeconds == nil {
		return DefaultAnswer, nil
	}
	return Wait(p.WaitSeconds)
}

// Stop holds the parameters of the tool stop.
type Stop struct {
	JobIDs       []string `json:"job_ids,omitempty" doc:"ids or names"`
	Session      string   `json:"session,omitempty" doc:"instead: close this session with its jobs"`
	All          bool     `json:"all,omitempty" doc:"instead: every job of this client"`
	Signal       string   `json:"signal,omitempty" doc:"only send this (INT, HUP, USR1, …) to job_ids"`
	GraceSeconds *float64 `json:"grace_seconds,omitempty" doc:"from TERM to KILL (the job's, 5); 0: KILL at once"`
}

// Check returns what is wrong with the parameters, or nil.
func (p Stop) Check() *messages.Error {
	given := 0
	for _, is := range []bool{len(p.JobIDs) > 0, p.Session != "", p.All} {
		if is {
			given++
		}
	}
	switch {
	case given != 1:
		return messages.Invalid("job_ids", "say what to end: job_ids, or a session, or all")
	case len(p.JobIDs) > messages.MaxAwaited:
		return messages.Invalid("job_ids", fmt.Sprintf("job_ids names %d jobs; at most %d are allowed", len(p.JobIDs), messages.MaxAwaited))
	case p.Signal != "" && (len(p.JobIDs) == 0 || p.GraceSeconds != nil):
		return messages.Invalid("signal", "a signal is sent to job_ids, and ends nothing by itself: there is no grace")
	case p.Session != "":
		return messages.SessionID(p.Session).Check()
	}
	return nil
}

// List holds the parameters of the tool list.
type List struct {
	All bool `json:"all,omitempty" doc:"ended jobs, too"`
}

// Await holds the parameters of the tool wait.
type Await struct {
	JobIDs         []string `json:"job_ids,omitempty" doc:"ids or names; else all that run"`
	Any            bool     `json:"any,omitempty" doc:"one of them is enough"`
	Until          string   `json:"until,omitempty" doc:"exit is the default" enum:"exit,match,port,quiet,input"`
	Pattern        string   `json:"pattern,omitempty" doc:"for match: RE2, also before now; ^ and $ per line"`
	Port           int      `json:"port,omitempty" doc:"for port"`
	QuietSeconds   float64  `json:"quiet_seconds,omitempty" doc:"for quiet (1)"`
	TimeoutSeconds *float64 `json:"timeout_seconds,omitempty" doc:"how long to wait (30, at most 55)"`
	MaxBytes       int      `json:"max_bytes,omitempty" doc:"bytes shown of each job (2000)"`
}

// AwaitBytes is the default limit of the output shown for each awaited job.
const AwaitBytes = 2000

// LineAnchors makes ^ and $ of a regular expression match at the ends of a line, as in
// grep. Patterns are written for lines of output.
const LineAnchors = "(?m)"

// Request returns the request to wait for jobs.
func (p Await) Request(jobs []messages.JobID) (messages.WaitJobs, *messages.Error) {
	r := messages.WaitJobs{Jobs: jobs, Any: p.Any, Condition: messages.Condition{Kind: messages.ConditionKind(p.Until), Pattern: p.Pattern, Port: p.Port}}
	kind := &r.Condition.Kind
	switch {
	case *kind == "match" || *kind == "" && p.Pattern != "":
		*kind = messages.UntilPattern
	case *kind == "" && p.Port != 0:
		*kind = messages.UntilPort
	case *kind == messages.UntilQuiet || *kind == "" && p.QuietSeconds != 0:
		*kind, r.Condition.Quiet = messages.UntilQuiet, time.Second
		if p.QuietSeconds != 0 {
			r.Condition.Quiet = seconds(p.QuietSeconds)
		}
	case *kind == "":
		*kind = messages.UntilExit
	case *kind != messages.UntilExit && *kind != messages.UntilPort && *kind != messages.UntilInput:
		return r, messages.Invalid("until", fmt.Sprintf("invalid until %q: use exit, match, port, quiet or input", p.Until))
	}
	wait, err := Wait(p.TimeoutSeconds)
	if err != nil {
		return r, messages.Invalid("timeout_seconds", fmt.Sprintf("timeout_seconds is %v; it must be from 0 to %.0f", *p.TimeoutSeconds, MaxWait.Seconds()))
	}
	if _, err := Bytes(p.MaxBytes); err != nil {
		return r, err
	}
	r.Timeout = max(wait, time.Millisecond) // 0 would be no limit
	bad := r.Check()
	if *kind == messages.UntilPattern {
		r.Condition.Pattern = LineAnchors + r.Condition.Pattern
	}
	return r, bad
}

// Job holds the parameters of a tool that only names a job.
type Job struct {
	JobID string `json:"job_id" doc:"id or name"`
}
