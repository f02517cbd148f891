package core

import (
	"cmp"
	"fmt"
	"strconv"
	"strings"
	"time"

	"troupe/messages"
)

// Text renders the result: the output shown, then everything else in brackets.
func (r RunResult) Text() string {
	var b strings.Builder
	b.WriteString(r.Output)
	lines := []string{r.status()}
	if r.Stream != "" {
		lines = append(lines, "shown is its "+r.Stream)
	}
	switch {
	case r.Screen:
		lines = append(lines, "its program takes the whole screen: shown is its screen, not its output")
	case r.Matches != nil:
		lines = append(lines, r.found())
	case r.Truncated:
		lines = append(lines, r.shown())
	case r.Running && r.Next > 0:
		lines = append(lines, fmt.Sprintf("what follows is read with from %d", r.Next))
	}
	for _, g := range r.Missing {
		lines = append(lines, fmt.Sprintf("bytes %d to %d were not kept: the output outgrew its quota", g.From, g.To))
	}
	if r.Screen && r.Truncated {
		lines = append(lines, "not all rows of the screen fit into max_bytes")
	}
	lines = append(lines, r.details()...)
	appendLines(&b, append(lines, r.ResultNotices.lines()...))
	return b.String()
}

// appendLines adds lines in brackets to a text.
func appendLines(b *strings.Builder, lines []string) {
	if s := b.String(); s != "" && !strings.HasSuffix(s, "\n") {
		b.WriteByte('\n')
	}
	for _, line := range lines {
		fmt.Fprintf(b, "[%s]\n", line)
	}
}

// status renders the state of the job in one line.
func (r JobRecord) status() string {
	name := r.JobID
	if r.Name != "" {
		name += " (" + r.Name + ")"
	}
	took := duration(time.Duration(r.DurationMS) * time.Millisecond)
	switch {
	case r.Running && r.State == string(messages.Queued):
		if len(r.WaitsFor) > 0 {
			return fmt.Sprintf("job %s is queued and has not begun: it waits for %s", name, strings.Join(r.WaitsFor, ", "))
		}
		if r.QueuedAfter != "" {
			return fmt.Sprintf("job %s is queued after job %s, and has not begun", name, r.QueuedAfter)
		}
		return fmt.Sprintf("job %s is queued, and has not begun", name)
	case r.Running && r.Waiting == "secret":
		return fmt.Sprintf("job %s waits for a password or another secret, after %s", name, took)
	case r.Running && r.Waiting != "":
		return fmt.Sprintf("job %s waits for input, after %s", name, took)
	case r.Running && r.Background:
		return fmt.Sprintf("job %s is %s in the background, for %s so far", name, r.State, took)
	case r.Running:
		return fmt.Sprintf("job %s is %s, for %s so far", name, r.State, took)
	}
	return fmt.Sprintf("job %s %s after %s", name, r.ended(), took)
}

// ended renders how the job ended.
func (r JobRecord) ended() string {
	code := 0
	if r.ExitCode != nil {
		code = *r.ExitCode
	}
	how := ""
	switch r.Outcome {
	case "exited":
		return fmt.Sprintf("exited with code %d", code)
	case "signaled":
		return fmt.Sprintf("was ended by signal %s, exit code %d", r.Signal, code)
	case "timed_out":
		how = "timed out and was ended"
	case "cancelled":
		how = "was cancelled"
	case "failed_to_start":
		how = "failed to start"
	case "lost":
		how = "was lost"
	default:
		how = r.Outcome
	}
	if r.Signal != "" {
		how += " by signal " + r.Signal
	}
	how += ", exit code " + strconv.Itoa(code)
	if r.Error != nil {
		how += ": " + r.Error.Message
	} else if r.Cause != "" {
		how += " (" + r.Cause + ")"
	}
	return how
}

// details renders the rest of a record.
func (r JobRecord) details() []string {
	var lines []string
	if r.Error != nil && r.Error.Hint != "" {
		lines = append(lines, r.Error.Hint)
	}
	switch {
	case r.SessionCwd != "":
		lines = append(lines, fmt.Sprintf("session %s is in %s", r.Session, r.SessionCwd))
	case r.Session != "":
		lines = append(lines, fmt.Sprintf("in session %s, from %s", r.Session, r.Cwd))
	}
	switch {
	case r.escaped:
		lines = append(lines, "processes that left its cgroup and still run: "+numbers(r.Survivors)+" (stop ends them)")
	case len(r.Survivors) > 0:
		lines = append(lines, "processes that could not be ended: "+numbers(r.Survivors))
	}
	if len(r.Pipe) > 0 {
		lines = append(lines, "note: the pipe hides a status: "+strings.Trim(strings.ReplaceAll(fmt.Sprint(r.Pipe), " ", " | "), "[]"))
	}
	return append(lines, r.flags()...)
}

// shown renders which part of the output is shown, and how to read the rest.
func (r RunResult) shown() string {
	if r.From == 0 && r.Next == 0 && r.Output == "" {
		return fmt.Sprintf("the output has %d bytes, of which nothing is shown; the tool read shows it", r.Bytes)
	}
	if r.Next == 0 {
		return fmt.Sprintf("shown is some of both streams, which have %d bytes; the tool read shows the rest, with stream and from, or line and limit", r.Bytes)
	}
	where := fmt.Sprintf("bytes %d to %d of %d", r.From, r.Next, r.Bytes)
	if r.Line > 0 {
		where += fmt.Sprintf(", from line %d", r.Line)
		if r.Lines > 0 {
			where += fmt.Sprintf(" of %d", r.Lines)
		}
	}
	return "shown: " + where + "; the tool read shows the rest, by line and limit, or from and max_bytes"
}

// found renders what a search has found, and how it goes on.
func (r RunResult) found() string {
	text := fmt.Sprintf("%d lines match", *r.Matches)
	switch *r.Matches {
	case 0:
		text = "no line matches"
	case 1:
		text = "1 line matches"
	}
	if r.Cursor == "" {
		return text
	}
	return fmt.Sprintf("%s in bytes %d to %d of %d; for more give the same pattern and cursor %s", text, r.From, r.Next, r.Bytes, r.Cursor)
}

// lines renders the notices and the note.
func (t ResultNotices) lines() []string {
	var lines []string
	if t.Note != "" {
		lines = append(lines, t.Note)
	}
	for _, n := range t.Notifications {
		lines = append(lines, n.line())
	}
	return lines
}

func (n Notice) line() string {
	r := JobRecord{Outcome: n.Outcome, ExitCode: &n.ExitCode, Signal: n.Signal, Cause: n.Cause}
	line := fmt.Sprintf("notice: job %s (%s) %s after %s", n.JobID, Preview(cmp.Or(n.Name, n.Command)), r.ended(), duration(time.Duration(n.DurationMS)*time.Millisecond))
	if n.LastLine != "" {
		line += "; its last line: " + n.LastLine
	}
	return line
}

// Text renders the list, one line for each job.
func (j Jobs) Text() string {
	var b strings.Builder
	if len(j.Jobs) == 0 {
		b.WriteString("no jobs\n")
	}
	for _, r := range j.Jobs {
		b.WriteString(r.row())
	}
	for _, t := range j.Tasks {
		b.WriteString(t.row())
	}
	for _, s := range j.Sessions {
		fmt.Fprintf(&b, "session %s (%s) in %s: %d running, %d queued\n", s.Session, cmp.Or(s.Shell, "?"), cmp.Or(s.Cwd, "?"), s.Running, s.Queued)
	}
	appendLines(&b, j.ResultNotices.lines())
	return b.String()
}

// row renders a job in one line of a list.
func (r JobRecord) row() string {
	line := r.status() + ": " + Preview(r.Command)
	if r.Description != "" {
		line += " (" + Preview(r.Description) + ")"
	}
	for _, o := range r.Outputs {
		line += fmt.Sprintf("; %s %d bytes", o.Stream, o.Bytes)
	}
	return line + "\n"
}

// row renders a task in one line of a list.
func (t Task) row() string {
	line := fmt.Sprintf("task %s (%s): %s", t.Task, t.Kind, t.State)
	if t.Ended {
		line += ", ended"
	}
	if t.Description != "" {
		line += ": " + Preview(t.Description)
	}
	return line + "\n"
}

// Text renders the wait.
func (a WaitResult) Text() string {
	var b strings.Builder
	switch {
	case a.Satisfied:
		b.WriteString("what was waited for has come\n")
	case a.TimedOut:
		b.WriteString("the time is spent, and it has not come; the jobs go on, and you can wait again\n")
	case a.Impossible:
		b.WriteString("it can no longer come: a job has ended without it\n")
	}
	for _, s := range a.Jobs {
		met := ""
		if s.Met {
			met = "* "
		}
		b.WriteString(met + s.row())
		if s.Output != "" {
			b.WriteString(strings.TrimRight(s.Output, "\n") + "\n")
		}
		if s.Truncated {
			appendLines(&b, []string{"shown is the end; the tool read shows the rest"})
		}
		appendLines(&b, s.details())
	}
	appendLines(&b, a.ResultNotices.lines())
	return b.String()
}

// Text renders the stop.
func (s StopResult) Text() string {
	var b strings.Builder
	if len(s.Jobs) == 0 && s.Closed == "" {
		b.WriteString("there was nothing to end\n")
	}
	if s.Closed != "" {
		fmt.Fprintf(&b, "the session %s was closed\n", s.Closed)
	}
	for _, r := range s.Jobs {
		b.WriteString(r.row())
	}
	if len(s.Survivors) > 0 {
		fmt.Fprintf(&b, "processes that could not be ended: %s\n", numbers(s.Survivors))
	}
	appendLines(&b, s.ResultNotices.lines())
	return b.String()
}

// Text renders the screen: its rows and the cursor.
func (s Screen) Text() string {
	var b strings.Builder
	b.WriteString(strings.TrimRight(strings.Join(s.Screen, "\n"), "\n"))
	lines := []string{fmt.Sprintf("screen of job %s, %d rows of %d; the cursor is in row %d, column %d, from 0", s.JobID, s.Rows, s.Cols, s.Row, s.Col)}
	if s.Title != "" {
		lines = append(lines, "its title is "+Preview(s.Title))
	}
	if s.Alternate {
		lines = append(lines, "a program has the whole screen")
	}
	if !s.Running {
		lines = append(lines, "the job has ended")
	}
	appendLines(&b, append(lines, s.ResultNotices.lines()...))
	return b.String()
}

// Text renders the whole error: some front ends show a model nothing else.
func (e Error) Text(t ResultNotices) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s (%s", e.Message, e.Code)
	if e.Reason != "" {
		fmt.Fprintf(&b, ", %s", e.Reason)
	}
	b.WriteString(")\n")
	if e.Hint != "" {
		b.WriteString(e.Hint + "\n")
	}
	appendLines(&b, t.lines())
	return b.String()
}

// previewLength bounds a command within a line, in runes.
const previewLength = 120

// Preview returns the first line of a text, cut to previewLength.
func Preview(s string) string {
	line, _, more := strings.Cut(strings.TrimSpace(s), "\n")
	if runes := []rune(line); len(runes) > previewLength {
		return string(runes[:previewLength]) + "…"
	}
	if more {
		return line + " …"
	}
	return line
}

func numbers(n []int) string {
	texts := make([]string, len(n))
	for i, v := range n {
		texts[i] = strconv.Itoa(v)
	}
	return strings.Join(texts, ", ")
}

// duration formats a time for people.
func duration(d time.Duration) string {
	if d < time.Minute {
		return strconv.FormatFloat(d.Seconds(), 'f', 2, 64) + " s"
	}
	return d.Round(time.Second).String()
}
