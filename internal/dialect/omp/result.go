package omp

import (
	"fmt"
	"strings"
	"time"

	"troupe/internal/dialect"
	"troupe/internal/shelltext"
)

// how says how a command ended, in the terms of this dialect.
type how int

const (
	exited     how = iota // by itself, with a code
	timedOut              // at its deadline
	abandoned             // it outlived the hard timeout
	aborted               // its caller aborted the call
	cancelled             // stopped, but not by its caller
	statusless            // without an exit code
	unstarted             // it did not start
	promoted              // a person has moved it to the background
)

// ended describes a command that has ended.
type ended struct {
	how     how
	code    int // exit code, for exited
	wall    time.Duration
	timeout Timeout
	out     Captured
	limits  limits
	why     string   // reason, for cancelled, statusless and unstarted
	notes   []string // further lines for the result
	pty     bool
	client  string // id of the client's terminal
}

// limits bound the lines that are shown; 0: no limit.
type limits struct{ head, tail int }

func (l limits) any() bool { return l.head > 0 || l.tail > 0 }

// annotation returns the line before an output that was cut short, or "".
func (e ended) annotation() string {
	switch e.how {
	case timedOut:
		return "[" + e.timeoutText() + "]"
	case abandoned:
		return "[" + fmt.Sprintf(textHardTimeout, number(e.timeout.Effective+hardGrace.Seconds())) + "]"
	case aborted:
		return "[" + textCancelled + "]"
	case cancelled:
		if e.why != "" {
			return "[" + fmt.Sprintf(textCancelledBy, e.why) + "]"
		}
		return "[" + textCancelled + "]"
	case promoted:
		return "[" + textPromoted + "]"
	}
	return ""
}

func (e ended) timeoutText() string {
	if e.timeout.Effective <= 0 {
		return textTimedOutAny
	}
	return fmt.Sprintf(textTimedOut, number(e.timeout.Effective))
}

// output returns the shown part of the output, without the annotation.
func (e ended) output() Captured {
	out := e.out
	if e.limits.tail <= 0 {
		return out
	}
	whole := out.Text
	out.Text = shelltext.ApplyLimits(whole, 0, e.limits.tail)
	out.Limited = len(out.Text) < len(whole)
	out.OutputBytes, out.OutputLines = int64(len(out.Text)), lines(out.Text)
	return out
}

// lines counts as the window does: newlines plus one, 0 for an empty text.
func lines(text string) int64 {
	if text == "" {
		return 0
	}
	return int64(strings.Count(text, "\n")) + 1
}

// plain returns the result for front ends that render it themselves. It is never an error,
// not even after a timeout.
func (e ended) plain() BashResult {
	out := e.output()
	r := BashResult{
		Output: out.Text, Truncated: out.Truncated, TotalLines: out.TotalLines, TotalBytes: out.TotalBytes,
		OutputLines: out.OutputLines, OutputBytes: out.OutputBytes, ArtifactID: out.ArtifactID, FullOutputPath: out.Path,
	}
	switch e.how {
	case exited:
		code := e.code
		r.ExitCode = &code
	case timedOut, abandoned:
		r.Cancelled, r.TimedOut = true, true
	case aborted, cancelled:
		r.Cancelled = true
	}
	if first := e.annotation(); first != "" {
		if r.Output != "" {
			first += "\n"
		}
		r.Output = first + r.Output
	}
	return r
}

// result returns the tool's answer. The caller checks whether the call was aborted.
func (e ended) result() dialect.Result {
	out := e.output()
	body := strings.TrimRight(out.Text, "\n")
	if out.RawID != "" {
		body = line(body, fmt.Sprintf(textRaw, out.RawID))
	}
	r := dialect.Result{IsError: true, Details: e.details(out)}
	switch e.how {
	case exited:
		if body == "" {
			body = textNoOutput
		}
		r.IsError = e.code != 0
		r.Text = blocks(body, strings.Join(e.notices(), "\n"), exitLine(e.code))
	case timedOut:
		r.Text = blocks(body, strings.Join(e.notes, "\n"), e.timeoutText())
	case abandoned:
		r.Text = blocks(body, strings.Join(e.notes, "\n"), strings.Trim(e.annotation(), "[]"), e.timeoutText())
	case aborted, cancelled:
		r.Text = e.abortText(body)
	case unstarted:
		r.Text = fmt.Sprintf(textNotStarted, e.why)
	case statusless:
		r.Text = blocks(e.failure(body), strings.Join(e.notes, "\n"), textNoStatus)
	}
	return notice(r)
}

// abortText returns the captured output, or says that the command was aborted.
func (e ended) abortText(body string) string {
	if body == "" {
		if e.why != "" {
			return fmt.Sprintf(textCancelledBy, e.why)
		}
		return textAborted
	}
	return e.annotation() + "\n" + body
}

// failure adds the reason for the missing exit code.
func (e ended) failure(body string) string {
	switch {
	case e.why == "":
		return body
	case e.pty:
		return line(body, fmt.Sprintf(textPTYError, e.why))
	}
	return line(body, fmt.Sprintf(textLost, e.why))
}

// notices returns the lines after an output, in their order.
func (e ended) notices() []string {
	all := []string{fmt.Sprintf(textWallTime, e.wall.Seconds())}
	if clamped := e.timeout.Notice(); clamped != "" {
		all = append(all, clamped)
	}
	return append(all, e.notes...)
}

func (e ended) details(out Captured) *Details {
	d := &Details{TimeoutSeconds: e.timeout.Effective, TimeoutDisabled: e.timeout.Disabled, TerminalID: e.client}
	if e.timeout.Requested != e.timeout.Effective {
		asked := e.timeout.Requested
		d.RequestedTimeoutSeconds = &asked
	}
	d.TimedOut = e.how == timedOut || e.how == abandoned
	if e.how != unstarted {
		ms := e.wall.Milliseconds()
		d.WallTimeMs = &ms
	}
	if e.how == exited && e.code != 0 {
		code := e.code
		d.ExitCode = &code
	}
	if t := out.truncation(); t != nil {
		d.Meta = &Meta{Truncation: t}
	}
	return d
}

// exitLine returns the last line of a failed command, "" for code 0.
func exitLine(code int) string {
	if code == 0 {
		return ""
	}
	return fmt.Sprintf(textExit, code)
}

// blocks joins the non-empty parts with blank lines.
func blocks(parts ...string) string {
	var there []string
	for _, p := range parts {
		if p != "" {
			there = append(there, p)
		}
	}
	return strings.Join(there, "\n\n")
}

// line appends a line to a text.
func line(text, more string) string {
	if text != "" && !strings.HasSuffix(text, "\n") {
		text += "\n"
	}
	return text + more
}
