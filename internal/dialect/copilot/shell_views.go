package copilot

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"troupe/messages"
)

// Task is one task as lists of a session's background work show it.
type Task struct {
	Type        string     `json:"type"` // "shell"; what the host calls its own
	ID          string     `json:"id"`
	Description string     `json:"description"`
	Status      Status     `json:"status"`
	StartedAt   time.Time  `json:"startedAt"`
	CompletedAt *time.Time `json:"completedAt,omitempty"`

	// Of a shell's.
	Command                string `json:"command,omitempty"`
	LogPath                string `json:"logPath,omitempty"`
	PID                    int    `json:"pid,omitempty"`
	AttachmentMode         string `json:"attachmentMode,omitempty"`
	ExecutionMode          string `json:"executionMode,omitempty"`
	CanPromoteToBackground bool   `json:"canPromoteToBackground"`
	Progress               string `json:"progress,omitempty"`
}

// The modes of a task.
const (
	Attached   = "attached"
	Detached   = "detached"
	InSync     = "sync"
	Background = "background"
)

// Views are what a session remembers of its shells, by their ids.
type Views struct {
	Sessions                   []string   `json:"sessions"`                   // shells that are open
	CurrentExecutions          []string   `json:"currentExecutions"`          // … in which a command runs, or has ended last
	DetachedSessions           []string   `json:"detachedSessions"`           // whose command is detached
	RetainedAttachedShellTasks []string   `json:"retainedAttachedShellTasks"` // that have ended: async, out of time or promoted
	RecentShutdowns            []Shutdown `json:"recentShutdowns"`            // the last one last
}

// Listed is what the list shows of a shell.
type Listed struct {
	ID, Command    string
	PID            int
	Mode           string
	AttachmentMode string
	Status         Status
	Ended          bool
	Code           *int // of one that has ended; nil: not known
	Elapsed        time.Duration
	Commands       int
	Unread         bool
	Why            string // it failed
}

// Text are the two lines of a shell.
func (l Listed) Text() string {
	unread, pid := "no", listUnknown
	if l.Unread {
		unread = "yes"
	}
	if l.PID > 0 {
		pid = strconv.Itoa(l.PID)
	}
	line := fmt.Sprintf(listLine, l.ID, pid, l.Mode, l.AttachmentMode, l.standing(), int(l.Elapsed/time.Second), l.Commands, unread)
	return line + "\n" + fmt.Sprintf(listCommand, preview(l.Command))
}

// standing says where a shell stands.
func (l Listed) standing() string {
	switch {
	case !l.Ended:
		return listRunning
	case l.Status == StatusCancelled:
		return listStopped
	case l.Why != "":
		return fmt.Sprintf(listFailed, l.Why)
	}
	return fmt.Sprintf(listEnded, code(l.Code))
}

// code is an exit code that may not be known.
func code(n *int) string {
	if n == nil {
		return codeUnknown
	}
	return strconv.Itoa(*n)
}

// Notice tells that a command in the background has ended. It is for the model: into a
// turn that runs at once, else it begins one. Short is for people.
type Notice struct {
	Type        string `json:"type"`
	ShellID     string `json:"shellId"`
	ExitCode    *int   `json:"exitCode,omitempty"`
	Description string `json:"description,omitempty"`
	Text        string `json:"-"`
	Short       string `json:"-"`
}

// The types of notices.
const (
	NoticeCompleted         = "shell_completed"
	NoticeDetachedCompleted = "shell_detached_completed"
)

// noticeOf makes the notice of an end; named is the description, or the command.
func noticeOf(id, description, command string, exit *int, detached bool, tools ToolNames) Notice {
	n := Notice{Type: NoticeCompleted, ShellID: id, ExitCode: exit, Description: description}
	named, done, exited, how := cmp.Or(description, preview(command)), noticeDone, noticeExit, tools.Read
	if detached {
		n.Type, done, exited, how = NoticeDetachedCompleted, noticeDetached, noticeDetExit, tools.List
	}
	if exit != nil && *exit == 0 {
		n.Text, n.Short = fmt.Sprintf(done, named, id, how), fmt.Sprintf(shortDone, named)
		return n
	}
	n.Text, n.Short = fmt.Sprintf(exited, named, id, code(exit), how), fmt.Sprintf(shortExit, named, code(exit))
	return n
}

// outcome says how a job ended: its exit code, if it has one of its own, or why it has
// none.
func outcome(job messages.Job) (exit *int, why string) {
	switch job.Outcome {
	case messages.Exited:
		return &job.Shell, ""
	case messages.Signaled:
		return &job.Shell, fmt.Sprintf(whySignal, job.Status.Signal)
	case messages.Cancelled:
		if job.Cause.Reason != "" {
			return nil, fmt.Sprintf(whyStoppedBy, job.Cause.Reason)
		}
		return nil, whyStopped
	case messages.TimedOut:
		return nil, whyTime
	case messages.FailedToStart:
		return nil, job.Err.Error()
	}
	return nil, whyLost
}

// statusOf is the status of a job that has ended.
func statusOf(job messages.Job, stopped bool) Status {
	switch {
	case stopped, job.Outcome == messages.Cancelled:
		return StatusCancelled
	case job.Outcome == messages.Exited && job.Shell == 0:
		return StatusCompleted
	}
	return StatusFailed
}
