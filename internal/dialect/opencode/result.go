package opencode

import (
	"fmt"
	"strings"
	"time"

	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/messages"
)

// BashResponseMetadata holds the details of a result of bash. Times are Unix milliseconds.
type BashResponseMetadata struct {
	StartTime    int64  `json:"start_time"`
	EndTime      int64  `json:"end_time"`
	Description  string `json:"description,omitempty"`
	ExitCode     int    `json:"exit_code"`
	TempFilePath string `json:"temp_file_path,omitempty"` // of stdout, or of stderr if stdout has none
	// The files of both streams; the task in the background.
	StdoutFilePath string `json:"stdout_file_path,omitempty"`
	StderrFilePath string `json:"stderr_file_path,omitempty"`
	TaskID         string `json:"task_id,omitempty"`
}

// shown is what a result shows of one stream.
type shown struct {
	text string
	cut  bool   // the text is a preview
	path string // of its file; "": none
	note string // remark in brackets; "": none
}

// result renders a command that has ended or was promoted.
func (s Settings) result(job messages.Record, out, err shown, m BashResponseMetadata) dialect.Result {
	m.ExitCode = job.ExitCode()
	m.StdoutFilePath, m.StderrFilePath = out.path, err.path
	if m.TempFilePath = out.path; m.TempFilePath == "" {
		m.TempFilePath = err.path
	}
	text := out.text
	for _, next := range []struct {
		text         string
		afterPreview bool // a preview ends with lines of the output
	}{{err.text, out.cut}, {lines(out.note, err.note, s.ending(job)), err.cut || out.cut && err.text == ""}} {
		if next.afterPreview && next.text != "" {
			text = unended(text) + "\n\n"
		}
		text = lines(text, next.text)
	}
	if text == "" {
		text = textNoOutput
	}
	return dialect.Result{Text: s.caught(text), Details: &m}
}

// lines joins texts so that each starts on a new line. It skips empty ones.
func lines(texts ...string) string {
	var b strings.Builder
	for _, t := range texts {
		if t == "" {
			continue
		}
		if was := b.String(); was != "" && !strings.HasSuffix(was, "\n") {
			b.WriteByte('\n')
		}
		b.WriteString(t)
	}
	return b.String()
}

// ending renders how a command ended, "" for exit code 0.
func (s Settings) ending(job messages.Record) string {
	switch job.End.Outcome {
	case messages.Exited, messages.Signaled:
		if job.End.Signal != "" {
			return fmt.Sprintf(textSignal, job.ExitCode(), job.End.Signal)
		}
		if job.ExitCode() == 0 {
			return ""
		}
		return fmt.Sprintf(textExit, job.ExitCode())
	case messages.TimedOut:
		return fmt.Sprintf(textTimedOut, job.Timeout.Milliseconds())
	case messages.Cancelled:
		if job.End.Cause.Reason != "" {
			return fmt.Sprintf(textAbortedBy, job.End.Cause.Reason)
		}
		return textAborted
	case messages.FailedToStart:
		return fmt.Sprintf(textNotStarted, job.End.Err.Message)
	case messages.Lost:
		return fmt.Sprintf(textLost, job.End.Err.Message)
	}
	return textPromoted
}

// times returns the times of a job. began and now replace unknown ones.
func times(job messages.Record, began, now time.Time) BashResponseMetadata {
	if job.Started.IsZero() {
		job.Started = began
	}
	if job.End.At.IsZero() {
		job.End.At = now
	}
	return BashResponseMetadata{StartTime: job.Started.UnixMilli(), EndTime: job.End.At.UnixMilli(), Description: job.Description}
}

// notKept renders a remark about bytes that neither the log nor a file has.
func notKept(lost int64, label string) string {
	if lost <= 0 {
		return ""
	}
	return "[" + fmt.Sprintf(textNotKept, artifact.Thousands(lost), label) + "]"
}
