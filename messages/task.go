package messages

import (
	"fmt"
	"strings"
	"time"
	"unicode/utf8"
)

// The task conversation: a host announces work of its own, such as a sub-agent, so that one
// list shows it beside the jobs. The supervisor stores tasks in memory only: the host
// owns them, and announces them again to the next daemon.
//
//	client --AnnounceTask | UpdateTask--> supervisor
//	client <--Acknowledged | RequestRejected--
//
// A task ends by an update, or with its scope. The host of the latter may have died, so that
// its state is TaskLost.

// AnnounceTask adds a task to the list. The id is unique in its scope. A repeat changes what it
// names of a live task, and begins an ended one anew.
type AnnounceTask struct {
	quiet
	ID          TaskID    `json:"id"`
	Scope       ScopePath `json:"scope,omitzero"` // "": MainScope
	Kind        string    `json:"kind,omitzero"`  // "": DefaultTaskKind
	Description string    `json:"description,omitzero"`
	State       string    `json:"state,omitzero"` // "": TaskRunning
}

// UpdateTask changes an announced task. Absent fields stay as they are.
type UpdateTask struct {
	quiet
	ID          TaskID    `json:"-" path:"id"`
	Scope       ScopePath `json:"scope,omitzero"` // "": MainScope
	Description string    `json:"description,omitzero"`
	State       string    `json:"state,omitzero"`
	Ended       bool      `json:"ended,omitzero"` // it has ended; without State, in TaskCompleted
}

// Task is a piece of work that the host runs itself.
type Task struct {
	ID          TaskID    `json:"id"`
	Scope       ScopePath `json:"scope"`
	Kind        string    `json:"kind"`
	Description string    `json:"description"`
	State       string    `json:"state"` // in the words of the host
	Ended       bool      `json:"ended"`
	Since       time.Time `json:"since"`
	EndedAt     time.Time `json:"ended_at,omitzero"`
}

// Words of troupe in a task; a host may have others.
const (
	DefaultTaskKind = "agent"
	TaskRunning     = "running"
	TaskCompleted   = "completed"
	TaskLost        = "lost" // its scope has ended before it
)

// Bounds of tasks.
const (
	MaxTasks       = 1024 // live tasks of a node
	MaxEndedTasks  = 100  // ended ones that are still listed, as ended sessions
	MaxTaskWord    = 64   // bytes of a kind or a state
	MaxTaskAbout   = 1024 // bytes of a description
	taskNameAdvice = "use up to 64 letters, digits, '.', '_' and '-' (not at the beginning)"
)

// Check returns what is wrong with the request, or nil.
func (r AnnounceTask) Check() *Error {
	if !validName(string(r.ID)) {
		return Invalid("id", fmt.Sprintf("invalid task id %.80q: %s", string(r.ID), taskNameAdvice))
	}
	return checkTask(r.Scope, map[string]string{"kind": r.Kind, "state": r.State}, r.Description)
}

// Check returns what is wrong with the request, or nil. An invalid id is that of no task.
func (r UpdateTask) Check() *Error {
	return checkTask(r.Scope, map[string]string{"state": r.State}, r.Description)
}

func checkTask(scope ScopePath, words map[string]string, about string) *Error {
	if scope != "" {
		if err := scope.Check(); err != nil {
			return err
		}
	}
	for field, word := range words {
		if word != "" && !validName(word) {
			return Invalid(field, fmt.Sprintf("invalid %s %.80q of a task: %s", field, word, taskNameAdvice))
		}
	}
	switch {
	case len(about) > MaxTaskAbout:
		return &Error{
			Code: TooLarge, Reason: "description",
			Message: fmt.Sprintf("the description of a task has %d bytes; at most %d are allowed", len(about), MaxTaskAbout), Hint: "shorten it",
		}
	case !utf8.ValidString(about) || strings.ContainsRune(about, 0):
		return Invalid("description", "the description of a task is not text in UTF-8")
	}
	return nil
}

// Refuse implements Refusable.
func (AnnounceTask) Refuse(e *Error) any { return RequestRejected{Err: *e} }
func (UpdateTask) Refuse(e *Error) any   { return RequestRejected{Err: *e} }
