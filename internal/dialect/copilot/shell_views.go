package copilot

import (
	"cmp"
	"fmt"
	"strconv"
	"time"

	"troupe/messages"
)

// Task is one task in a list of a session's background work.
type Task struct {
	Type        string     `json:"type"` // "shell", or the host's own type
	ID          string     `json:"id"`
	Description string     `json:"description"`
	Status      Status     `json:"status"`
	StartedAt   time.Time  `json:"startedAt"`
	CompletedAt *time.Time `json:"completedAt,omitempty"`

	// Only for tasks of shells.
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

// Views lists the ids of what a session remembers of its shells.
type Views struct {
	Sessions                   []string   `json:"sessions"`                   // open shells
	CurrentExecutions          []string   `json:"currentExecutions"`          // open shells with a running or an ended command
	DetachedSessions           []string   `json:"detachedSessions"`           // shells whose command is detached
	RetainedAttachedShellTasks []string   `json:"retainedAttachedShellTasks"` // ended background commands: async, timed out or promoted
	RecentShutdowns            []Shutdown `json:"recentShutdowns"`            // newest last
}

// Listed is what the list shows of one shell.
type Listed struct {
	ID, Command    string
	PID            int
	Mode           string
	AttachmentMode string
	Status         Status
	Ended          bool
	Code           *int // exit code after the end; nil: unknown
	Elapsed        time.Duration
	Commands       int
	Unread         bool
	Why            string // why the command failed; "": it did not
}

// Text renders the two lines of a shell.
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

// standing renders the state of a shell.
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

// code renders an exit code; nil is unknown.
func code(n *int) string {
	if n == nil {
		return codeUnknown
	}
	return strconv.Itoa(*n)
}

// Notice reports the end of a command in the background. Text is for the model: it
// joins the current turn, or starts one. Short is for people.
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

// noticeOf makes the notice of an end. It names the command by its description, or else by
// its text.
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

// outcome returns the exit code of a job that has one of its own, or else the reason why it
// has none.
func outcome(job messages.Record) (exit *int, why string) {
	switch job.End.Outcome {
	case messages.Exited:
		return new(job.End.Shell()), ""
	case messages.Signaled:
		return new(job.End.Shell()), fmt.Sprintf(whySignal, job.End.Signal)
	case messages.Cancelled:
		if job.End.Cause.Reason != "" {
			return nil, fmt.Sprintf(whyStoppedBy, job.End.Cause.Reason)
		}
		return nil, whyStopped
	case messages.TimedOut:
		return nil, whyTime
	case messages.FailedToStart:
		return nil, job.End.Err.Error()
	}
	return nil, whyLost
}

// statusOf returns the status of a job that has ended.
func statusOf(job messages.Record, stopped bool) Status {
	switch {
	case stopped, job.End.Outcome == messages.Cancelled:
		return StatusCancelled
	case job.End.Outcome == messages.Exited && job.End.Shell() == 0:
		return StatusCompleted
	}
	return StatusFailed
}
