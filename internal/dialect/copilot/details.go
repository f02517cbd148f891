package copilot

import (
	"fmt"
	"strings"
	"time"

	"troupe/internal/artifact"
)

// Details holds the structured part of a result.
type Details struct {
	ShellID        string `json:"shellId,omitempty"`
	Status         Status `json:"status,omitempty"`
	ExitCode       *int   `json:"exitCode,omitempty"`
	PID            int    `json:"pid,omitempty"`
	ExecutionMode  string `json:"executionMode,omitempty"`
	AttachmentMode string `json:"attachmentMode,omitempty"`
	LogPath        string `json:"logPath,omitempty"`
	// The output so far. The path is set if the text has only a preview.
	OutputBytes         int64  `json:"outputBytes"`
	LargeOutputFilePath string `json:"largeOutputFilePath,omitempty"`
	OutputTail          string `json:"outputTail,omitempty"` // the last characters of a large output
	// HiddenFromUser means that the text is for the model alone.
	HiddenFromUser bool `json:"hiddenFromUser,omitempty"`
	// Telemetry holds troupe's fields for counters. They contain no command text.
	Telemetry map[string]string `json:"telemetry,omitempty"`
}

// Status is the state of a task.
type Status string

// The statuses. StatusIdle is for waiting agents, which a host announces.
const (
	StatusRunning   Status = "running"
	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
	StatusIdle      Status = "idle"
)

// LargeText returns what is shown of an output: all of it, or its path and its beginning.
func LargeText(out artifact.SpillResult) string {
	switch {
	case !out.Large:
		return strings.TrimSpace(out.Text)
	case out.File == nil:
		return fmt.Sprintf(textLargeLost, Size(out.Bytes), artifact.LargeHead, out.Head)
	}
	return fmt.Sprintf(textLarge, Size(out.Bytes), out.File.Path, artifact.LargeHead, out.Head)
}

// Size formats a number of bytes in units of 1024, with one decimal.
func Size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

// output fills in the details of an output.
func (d *Details) output(out artifact.SpillResult) {
	d.OutputBytes = out.Bytes
	if out.Large {
		d.OutputTail = out.Tail
		if out.File != nil {
			d.LargeOutputFilePath = out.File.Path
		}
	}
}

// joined joins the non-empty parts of a result with newlines.
func joined(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n")
}

// spoken formats a duration in seconds for texts.
func spoken(d time.Duration) string {
	if d < time.Second {
		return number(float64(d.Round(100*time.Millisecond)) / float64(time.Second))
	}
	return number(float64(d / time.Second))
}

// mostKept bounds the text and the description of a command that are kept for lists, in
// bytes. A text may have 16 MiB, and there may be more than a hundred.
const mostKept = 16 << 10

// kept returns the beginning of a text, in whole runes. It is a copy, so that the rest can
// be freed.
func kept(text string) string {
	if len(text) <= mostKept {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:mostKept]), "") + "…"
}

// preview returns the first line of a command, cut to 120 characters.
func preview(command string) string {
	line, _, more := strings.Cut(strings.TrimSpace(command), "\n")
	if runes := []rune(line); len(runes) > 120 {
		return string(runes[:120]) + "…"
	}
	if more {
		return line + " …"
	}
	return line
}
