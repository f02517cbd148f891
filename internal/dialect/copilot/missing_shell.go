package copilot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// mostShutdowns is how many ends of shells are remembered.
const mostShutdowns = 100

// Reason is why a shell was shut down.
type Reason string

// The reasons.
const (
	ReasonStopped   Reason = "stopped"
	ReasonError     Reason = "error"
	ReasonCompleted Reason = "completed"
	ReasonCleanup   Reason = "auto-cleanup"
)

// Shutdown is the end of a shell. The hash is the SHA-256 of its last command's text.
type Shutdown struct {
	ShellID       string    `json:"shellId"`
	Reason        Reason    `json:"reason"`
	At            time.Time `json:"at"`
	ExitCode      *int      `json:"exitCode"`
	CommandHash   string    `json:"commandHash"`
	CommandLength int       `json:"commandLength"`
}

func hash(command string) string {
	sum := sha256.Sum256([]byte(command))
	return hex.EncodeToString(sum[:])
}

// Category is why a shell that was named is not there.
type Category string

// The categories.
const (
	ShellStopped       Category = "shell_stopped"
	ShellErrorShutdown Category = "shell_error_shutdown"
	ShellCompleted     Category = "shell_completed"
	ShellNotFound      Category = "shell_not_found"
	ShellUnknown       Category = "shell_unknown"
)

// Missing says why a shell that was named is not there.
type Missing struct {
	Category Category
	Text     string
	// Diagnostic has no text of a command in it.
	Diagnostic string
}

// Classify says why the shell id is not there, to who wanted to do what the verb says.
// last is its last end, nil if none is known; given says that it was once a shell's.
func Classify(id, verb string, last *Shutdown, given bool) Missing {
	switch {
	case last == nil && given:
		return Missing{Category: ShellNotFound, Text: fmt.Sprintf(missGone, id), Diagnostic: "given, and no end is known"}
	case last == nil:
		return Missing{Category: ShellUnknown, Text: fmt.Sprintf(missUnknown, quoted(id), verb), Diagnostic: "never given"}
	}
	m := Missing{Diagnostic: fmt.Sprintf("%s, command %.12s of %d bytes", last.Reason, last.CommandHash, last.CommandLength)}
	code := last.ExitCode
	switch last.Reason {
	case ReasonStopped:
		m.Category, m.Text = ShellStopped, fmt.Sprintf(missStopped, id)
	case ReasonError:
		m.Category, m.Text = ShellErrorShutdown, fmt.Sprintf(missError, id)
		if code != nil {
			m.Text = fmt.Sprintf(missExited, id, *code)
		}
	case ReasonCompleted:
		m.Category, m.Text = ShellCompleted, fmt.Sprintf(missCompleted, id)
		if code != nil {
			m.Text = fmt.Sprintf(missCode, id, *code)
		}
	default:
		m.Category, m.Text = ShellNotFound, fmt.Sprintf(missReclaimed, id)
	}
	return m
}

// quoted is an id in a sentence; one that is empty must be seen.
func quoted(id string) string {
	if id == "" {
		return `""`
	}
	return id
}

// Shell statuses of a stop, for telemetry.
const (
	stoppedNow       = "stopped"
	neverCreated     = "never_created"
	alreadyStopped   = "already_stopped"
	errorShutdown    = "error_shutdown"
	alreadyCompleted = "already_completed"
	expired          = "expired"
	alreadyGone      = "already_gone"
)

// stopStatus is what a stop of a shell that is missing found.
func stopStatus(c Category) string {
	switch c {
	case ShellStopped:
		return alreadyStopped
	case ShellErrorShutdown:
		return errorShutdown
	case ShellCompleted:
		return alreadyCompleted
	case ShellNotFound:
		return expired
	}
	return neverCreated
}
