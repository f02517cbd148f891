package copilot

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"time"
)

// mostShutdowns bounds the remembered ends of shells.
const mostShutdowns = 100

// Reason says why a shell was shut down.
type Reason string

// The reasons.
const (
	ReasonStopped   Reason = "stopped"
	ReasonError     Reason = "error"
	ReasonCompleted Reason = "completed"
	ReasonCleanup   Reason = "auto-cleanup"
)

// Shutdown is the end of a shell. CommandHash is the SHA-256 of its last command's text.
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

// Category says why a shell that a call named is missing.
type Category string

// The categories.
const (
	ShellStopped       Category = "shell_stopped"
	ShellErrorShutdown Category = "shell_error_shutdown"
	ShellCompleted     Category = "shell_completed"
	ShellNotFound      Category = "shell_not_found"
	ShellUnknown       Category = "shell_unknown"
)

// Missing explains why a shell that a call named is missing.
type Missing struct {
	Category Category
	Text     string
	// Diagnostic contains no command text.
	Diagnostic string
}

// Classify explains why the shell id is missing for the operation verb. last is its last
// end, nil if unknown; given means that a shell had this id.
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

// quoted returns an id for a sentence, with an empty id made visible.
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

// stopStatus returns the status of a stop that found no shell.
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
