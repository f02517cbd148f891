package opencode

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// BashParams are the parameters of the tool bash.
type BashParams struct {
	Command         string `json:"command"`
	Timeout         int64  `json:"timeout,omitempty"` // milliseconds
	Workdir         string `json:"workdir,omitempty"`
	Description     string `json:"description"`
	RunInBackground bool   `json:"run_in_background,omitempty"`
}

// ViewParams are the parameters of the tool view.
type ViewParams struct {
	FilePath string `json:"file_path"`
	Offset   int64  `json:"offset,omitempty"`
	Limit    int64  `json:"limit,omitempty"`
}

// TaskParams are the parameters of the tool taskstop.
type TaskParams struct {
	TaskID string `json:"task_id"`
}

func (p BashParams) check(s Settings) *messages.Error {
	switch {
	case strings.TrimSpace(p.Command) == "":
		return messages.Invalid("command", textNoCommand)
	case strings.TrimSpace(p.Description) == "":
		return messages.Invalid("description", textNoDescription)
	case p.RunInBackground && !s.Background:
		return messages.Invalid("run_in_background", textTasksOff)
	}
	if word := bannedWord(p.Command, s.Banned); word != "" {
		return messages.Invalid("command", fmt.Sprintf(textBanned, word))
	}
	return nil
}

// Timeouts of foreground commands, in milliseconds.
const (
	defaultTimeout = 120_000
	maxTimeout     = 600_000
)

// timeoutOf returns the deadline of a foreground command in milliseconds.
func timeoutOf(asked int64) int64 {
	if asked <= 0 {
		return defaultTimeout
	}
	return min(asked, maxTimeout)
}

func milliseconds(n int64) time.Duration { return time.Duration(n) * time.Millisecond }

// bannedWord returns the first command name in the text that is banned, or "". It judges a
// text that does not parse by its first word.
func bannedWord(command string, banned []string) string {
	if len(banned) == 0 {
		return ""
	}
	names := strings.Fields(command)[:1]
	if script, err := shelltext.Parse(command); err == nil {
		names = names[:0]
		for _, c := range script.Commands {
			names = append(names, c.Name())
		}
	}
	for _, name := range names {
		if slices.ContainsFunc(banned, func(b string) bool { return strings.EqualFold(b, name) }) {
			return name
		}
	}
	return ""
}

// waitsOnly reports whether a command only waits.
func waitsOnly(command string) bool {
	script, err := shelltext.Parse(command)
	if err != nil || len(script.Commands) == 0 {
		return false
	}
	for _, c := range script.Commands {
		if c.Name() != "sleep" && c.Name() != "wait" {
			return false
		}
	}
	return true
}
