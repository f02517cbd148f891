package copilot

import (
	"fmt"
	"strings"
	"time"

	"troupe/internal/artifact"
)

// Details are what a result has beside its text.
type Details struct {
	ShellID        string `json:"shellId,omitempty"`
	Status         Status `json:"status,omitempty"`
	ExitCode       *int   `json:"exitCode,omitempty"`
	PID            int    `json:"pid,omitempty"`
	ExecutionMode  string `json:"executionMode,omitempty"`
	AttachmentMode string `json:"attachmentMode,omitempty"`
	LogPath        string `json:"logPath,omitempty"`
	// Of the output so far. The path is there if the text has only a preview of it.
	OutputBytes         int64  `json:"outputBytes"`
	LargeOutputFilePath string `json:"largeOutputFilePath,omitempty"`
	OutputTail          string `json:"outputTail,omitempty"` // its last characters, if it is large
	// HiddenFromUser says that the text is for the model alone.
	HiddenFromUser bool `json:"hiddenFromUser,omitempty"`
	// Telemetry are fields of ours for counters; no text of a command is in them.
	Telemetry map[string]string `json:"telemetry,omitempty"`
}

// Status is where a task stands.
type Status string

// The statuses. Idle is that of agents that wait, which a host announces.
const (
	StatusRunning   Status = "running"
	StatusCompleted Status = "completed"
	StatusFailed    Status = "failed"
	StatusCancelled Status = "cancelled"
	StatusIdle      Status = "idle"
)

// LargeText is what is shown of an output: all of it, or where it is and how it begins.
func LargeText(out artifact.SpillResult) string {
	switch {
	case !out.Large:
		return strings.TrimSpace(out.Text)
	case out.File == nil:
		return fmt.Sprintf(textLargeLost, Size(out.Bytes), artifact.LargeHead, out.Head)
	}
	return fmt.Sprintf(textLarge, Size(out.Bytes), out.File.Path, artifact.LargeHead, out.Head)
}

// Size writes a number of bytes, in units of 1024 with one decimal.
func Size(n int64) string {
	switch {
	case n < 1<<10:
		return fmt.Sprintf("%d bytes", n)
	case n < 1<<20:
		return fmt.Sprintf("%.1f KB", float64(n)/(1<<10))
	}
	return fmt.Sprintf("%.1f MB", float64(n)/(1<<20))
}

// output tells of an output in the details.
func (d *Details) output(out artifact.SpillResult) {
	d.OutputBytes = out.Bytes
	if out.Large {
		d.OutputTail = out.Tail
		if out.File != nil {
			d.LargeOutputFilePath = out.File.Path
		}
	}
}

// joined puts the parts of a result under each other, without those that are empty.
func joined(parts ...string) string {
	var kept []string
	for _, p := range parts {
		if p != "" {
			kept = append(kept, p)
		}
	}
	return strings.Join(kept, "\n")
}

// spoken are seconds, as texts have them.
func spoken(d time.Duration) string {
	if d < time.Second {
		return number(float64(d.Round(100*time.Millisecond)) / float64(time.Second))
	}
	return number(float64(d / time.Second))
}

// mostKept is how much of the text of a command, and of its description, is kept for
// lists: a text may have 16 MiB, and there may be more than a hundred of them.
const mostKept = 16 << 10

// kept is the beginning of a text, in whole runes. What is kept does not hold the rest.
func kept(text string) string {
	if len(text) <= mostKept {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:mostKept]), "") + "…"
}

// preview is the first line of a command, cut.
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
