package out

import (
	"fmt"
	"strings"
	"time"

	"troupe/messages"
)

// StatusText describes the state of a job and its age.
func StatusText(j messages.Record, now time.Time) string {
	if j.State.Ended() {
		return EndText(j) + ", " + Ago(now.Sub(j.End.At)) + " ago"
	}
	since := j.Started
	if since.IsZero() {
		since = j.Created
	}
	text := string(j.State) + " " + Ago(now.Sub(since))
	switch {
	case len(j.WaitsFor) > 0:
		text += ", waits for " + WaitsText(j.WaitsFor)
	case j.WaitingForSecret:
		text += ", waits for a secret"
	case j.WaitingForInput:
		text += ", waits for input"
	case j.HasFlag(messages.FlagLogBlocked):
		text += ", output was blocked" // or still is: the flag stays after the log had room again
	case !j.Background && j.State == messages.Running:
		text += ", foreground"
	}
	return text
}

// WaitsText lists what a queued job waits for, with the jobs that have it.
func WaitsText(all []messages.WaitsFor) string {
	var texts []string
	for _, w := range all {
		texts = append(texts, w.String())
	}
	return strings.Join(texts, ", ")
}

// TaskText describes the state of a task and its age.
func TaskText(t messages.Task, now time.Time) string {
	if t.Ended {
		return t.State + ", " + Ago(now.Sub(t.EndedAt)) + " ago"
	}
	return t.State + " " + Ago(now.Sub(t.Since))
}

// EndText describes the outcome of a job.
func EndText(j messages.Record) string {
	switch j.End.Outcome {
	case messages.Exited:
		return fmt.Sprintf("exited %d", j.End.Shell())
	case messages.Signaled:
		return "signal " + j.End.Signal
	case messages.TimedOut:
		if j.End.Cause.By == messages.ByIdle {
			return "timed out, idle"
		}
		return "timed out"
	case messages.FailedToStart:
		return "failed to start"
	}
	return string(j.End.Outcome)
}

// EndsText lists the ended jobs with their outcomes.
func EndsText(jobs []messages.Record) string {
	var ends []string
	for _, j := range jobs {
		if j.State.Ended() {
			ends = append(ends, string(j.ID)+" "+EndText(j))
		}
	}
	return strings.Join(ends, ", ")
}

// Ran returns how long a job has run so far.
func Ran(j messages.Record, now time.Time) time.Duration {
	if j.State.Ended() || j.Started.IsZero() {
		return j.Duration()
	}
	return now.Sub(j.Started)
}
