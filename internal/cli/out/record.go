package out

import (
	"fmt"
	"strings"
	"time"

	"github.com/dustin/go-humanize"

	"troupe/messages"
)

// RecordText renders a job's record, one line for each field that is set.
func RecordText(j messages.Record, now time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "%s %s\n", j.ID, Clean(Shorten(j.Command, RecordWidth)))
	line := func(name, format string, args ...any) {
		if text := fmt.Sprintf(format, args...); text != "" {
			fmt.Fprintf(&b, "%11s  %s\n", name, Clean(text))
		}
	}
	line("status", "%s", StatusText(j, now))
	line("ended by", "%s", causeText(j.End.Cause))
	if j.End.Err.Message != "" {
		line("error", "%v", &j.End.Err)
	}
	line("name", "%s", j.Name)
	line("description", "%s", j.Description)
	line("scope", "%s, session %s, %s", j.Scope, j.Session, j.Backend)
	if j.Terminal != (messages.Terminal{}) {
		line("terminal", "%d rows, %d columns", j.Terminal.Rows, j.Terminal.Cols)
	}
	if j.FullScreen {
		line("screen", "takes the whole screen (alternate buffer); troupe screen %s shows it", j.ID)
	}
	line("directory", "%s", j.Dir)
	if j.PID > 0 {
		line("process", "%d%s", j.PID, Prefixed(", isolation ", string(j.Isolation)))
	}
	line("uses", "%s", usedText(j.Live))
	line("listens", "%s", listensText(j.Live))
	line("stop signal", "%s", j.StopSignal)
	line("idle", "%s", idleText(j.IdleTimeout()))
	line("rerun of", "%s", j.RerunOf())
	line("uid", "%s", j.UID)
	line("created", "%s", timeText(j.Created, now))
	line("started", "%s", timeText(j.Started, now))
	line("finished", "%s", timeText(j.End.At, now))
	if !j.Deadline.IsZero() && !j.State.Ended() {
		line("deadline", "%s, in %s", j.Deadline.Local().Format(time.DateTime), Ago(j.Deadline.Sub(now)))
	}
	if j.End.Rusage != (messages.Rusage{}) {
		line("used", "%s user, %s system, %s", j.End.Rusage.User, j.End.Rusage.System, humanize.IBytes(uint64(max(j.End.Rusage.MaxRSS, 0))<<10))
	}
	lastLines(j, line)
	return b.String()
}

// lastLines prints the outputs of a job, what it has left, its notices and its flags.
func lastLines(j messages.Record, line func(name, format string, args ...any)) {
	for _, out := range j.Output {
		size := humanize.IBytes(uint64(max(out.Bytes, 0)))
		if out.Bytes == 0 && j.HasFlag(messages.FlagOutputLost) {
			size = "lost"
		}
		line(out.Stream.String(), "%s%s%s", size, Prefixed(" in ", out.File), gapsText(out.Elided))
	}
	if j.OutputOpen {
		line("leftover", "%s, output still open", Plural(int(j.End.Children), "process"))
	} else if j.End.Children > 0 {
		line("leftover", "%s", Plural(int(j.End.Children), "process"))
	}
	for _, s := range j.End.Survivors {
		line("survivor", "process %d: %s", s.PID, SurvivorText(s))
	}
	for _, n := range j.OnFinish {
		line("notice", "%s: %s", Shorten(n.To, RecordWidth), NoticeText(n))
	}
	for _, fault := range j.Faults {
		line("fault", "%s", fault)
	}
	for _, flag := range j.Flags {
		line("flag", "%s", flag)
	}
}

// NoticeText describes the state of a notice, its tries and its error.
func NoticeText(n messages.Notice) string {
	text := strings.ReplaceAll(string(n.State), "_", " ")
	if n.Tries > 1 {
		text += fmt.Sprintf(" at attempt %d", n.Tries)
	}
	return text + Prefixed(": ", n.Err.Message)
}

// RecordWidth limits the command in the first line of a record, in columns.
const RecordWidth = 200

// Prefixed returns prefix and text, or nothing if there is no text.
func Prefixed(prefix, text string) string {
	if text == "" {
		return ""
	}
	return prefix + text
}

// causeText says who ended a job and why.
func causeText(c messages.Cause) string {
	if c.By == messages.ByNone {
		return ""
	}
	return string(c.By) + Prefixed(": ", c.Reason) + Prefixed(", by signal ", c.Signal)
}

// timeText renders a time and its age.
func timeText(t, now time.Time) string {
	if t.IsZero() {
		return ""
	}
	return t.Local().Format(time.DateTime) + ", " + Ago(now.Sub(t)) + " ago"
}

// idleText says when a job is stopped for its silence.
func idleText(timeout time.Duration) string {
	if timeout == 0 {
		return ""
	}
	return "stopped after " + timeout.String() + " without output"
}

// gapsText reports the bytes of a stream that were not kept.
func gapsText(gaps []messages.OutputGap) string {
	lost := int64(0)
	for _, g := range gaps {
		lost += g.To - g.From
	}
	if lost == 0 {
		return ""
	}
	return ", " + humanize.IBytes(uint64(lost)) + " not stored"
}
