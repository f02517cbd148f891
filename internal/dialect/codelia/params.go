package codelia

import (
	"fmt"
	"strings"
)

// Error codes of JSON-RPC.
const (
	CodeInvalidParams = -32602
	CodeInternal      = -32000
	CodeBusy          = -32001
)

// Error is the error of a request.
type Error struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

func (e *Error) Error() string { return e.Message }

func invalid(format string, values ...any) *Error {
	return &Error{Code: CodeInvalidParams, Message: fmt.Sprintf(format, values...)}
}

func internal(err error) *Error { return &Error{Code: CodeInternal, Message: err.Error()} }

// Capabilities lists what a server supports.
type Capabilities struct {
	ShellExec   bool `json:"supports_shell_exec"`
	ShellTasks  bool `json:"supports_shell_tasks"`
	ShellDetach bool `json:"supports_shell_detach"`
	ToolCall    bool `json:"supports_tool_call"`
}

// Supported returns the capabilities of a Session.
func Supported() Capabilities { return Capabilities{true, true, true, true} }

// ExecParams holds the parameters of shell.exec.
type ExecParams struct {
	Command        string   `json:"command"`
	TimeoutSeconds *float64 `json:"timeout_seconds,omitempty"` // default 120, at most 300
	Cwd            string   `json:"cwd,omitempty"`
}

// Truncated reports which streams are cut.
type Truncated struct {
	Stdout   bool `json:"stdout"`
	Stderr   bool `json:"stderr"`
	Combined bool `json:"combined"`
}

// ExecResult is the result of shell.exec.
type ExecResult struct {
	CommandPreview string    `json:"command_preview"`
	ExitCode       *int      `json:"exit_code"`
	Signal         *string   `json:"signal"`
	Stdout         string    `json:"stdout"`
	Stderr         string    `json:"stderr"`
	Truncated      Truncated `json:"truncated"`
	DurationMS     int64     `json:"duration_ms"`
	StdoutCacheID  string    `json:"stdout_cache_id,omitempty"`
	StderrCacheID  string    `json:"stderr_cache_id,omitempty"`
	FailureMessage string    `json:"failure_message,omitempty"` // an addition of troupe: why a command was stopped
}

// StartParams holds the parameters of shell.start.
type StartParams struct {
	ExecParams
	StdinMode string `json:"-"` // closed or pipe
	Detached  bool   `json:"-"` // no call waits for the task
	Label     string `json:"-"` // begins the key of the task; "": shell
}

// States of a task.
const (
	Queued    = "queued"
	Running   = "running"
	Completed = "completed"
	Failed    = "failed"
	Cancelled = "cancelled"
)

// TaskInfo describes a task. Times are in RFC 3339.
type TaskInfo struct {
	TaskID             string    `json:"task_id"`
	State              string    `json:"state"`
	StillRunning       bool      `json:"still_running,omitempty"`
	CommandPreview     string    `json:"command_preview"`
	Cwd                string    `json:"cwd"`
	CreatedAt          string    `json:"created_at"`
	UpdatedAt          string    `json:"updated_at"`
	StartedAt          string    `json:"started_at,omitempty"`
	EndedAt            string    `json:"ended_at,omitempty"`
	ExitCode           *int      `json:"exit_code"`
	Signal             *string   `json:"signal"`
	Stdout             string    `json:"stdout"`
	Stderr             string    `json:"stderr"`
	Truncated          Truncated `json:"truncated"`
	DurationMS         *int64    `json:"duration_ms"`
	StdoutCacheID      string    `json:"stdout_cache_id,omitempty"`
	StderrCacheID      string    `json:"stderr_cache_id,omitempty"`
	FailureMessage     string    `json:"failure_message,omitempty"`
	CancellationReason string    `json:"cancellation_reason,omitempty"`
	CleanupReason      string    `json:"cleanup_reason,omitempty"`
}

// TaskParams holds the parameters of shell.status, shell.detach and shell.cancel.
type TaskParams struct {
	TaskID string `json:"task_id"`
}

// WaitParams holds the parameters of shell.wait.
type WaitParams struct {
	TaskID             string   `json:"task_id"`
	WaitTimeoutSeconds *float64 `json:"wait_timeout_seconds,omitempty"` // default 120, at most 300
}

// ListParams holds the parameters of shell.list.
type ListParams struct {
	Limit *int `json:"limit,omitempty"`
}

// ListResult is the result of shell.list, newest task first.
type ListResult struct {
	Tasks []TaskInfo `json:"tasks"`
}

// DetachResult is the result of shell.detach and of a detached wait.
type DetachResult struct {
	TaskID   string `json:"task_id"`
	Detached bool   `json:"detached"`
	State    string `json:"state"`
}

// OutputParams holds the parameters of shell.output.
type OutputParams struct {
	TaskID     string `json:"task_id"`
	Stream     string `json:"stream"`
	Offset     *int64 `json:"offset,omitempty"`
	Limit      *int64 `json:"limit,omitempty"`
	LineNumber *int64 `json:"line_number,omitempty"`
	CharOffset *int64 `json:"char_offset,omitempty"`
	CharLimit  *int64 `json:"char_limit,omitempty"`
}

// OutputResult is the result of shell.output.
type OutputResult struct {
	TaskID  string `json:"task_id"`
	Stream  string `json:"stream"`
	Cached  bool   `json:"cached"`
	RefID   string `json:"ref_id,omitempty"`
	Content string `json:"content"`
}

// InputParams holds a write to the standard input of a task.
type InputParams struct {
	TaskID string `json:"task_id"`
	Data   string `json:"data"`
	Close  bool   `json:"close,omitempty"` // after the data
}

// Limits of timeouts, in seconds.
const (
	defaultSeconds = 120
	maxSeconds     = 300
	maxTaskSeconds = 2147483
)

// seconds returns the timeout of a foreground command or a wait, in whole seconds and at
// most maxSeconds.
func seconds(asked *float64, wrong string) (int64, *Error) {
	switch {
	case asked == nil:
		return defaultSeconds, nil
	case !(*asked > 0): // NaN, too
		return 0, invalid("%s", wrong)
	}
	return max(1, int64(min(*asked, maxSeconds))), nil
}

// taskSeconds returns the timeout of a task in seconds; 0: none.
func taskSeconds(asked *float64) (int64, *Error) {
	switch {
	case asked == nil:
		return 0, nil
	case !(*asked > 0):
		return 0, invalid(textTimeout)
	case *asked > maxTaskSeconds:
		return 0, invalid(textTimeoutMost, maxTaskSeconds)
	}
	return max(1, int64(*asked)), nil
}

const (
	previewChars = 400
	logChars     = 200
)

// CommandPreview returns a command as results show it.
func CommandPreview(command string) string {
	return cutChars(strings.TrimSpace(command), previewChars, textCutMark)
}

// logCommand returns a command as logs show it.
func logCommand(command string) string {
	return cutChars(strings.Join(strings.Fields(command), " "), logChars, textCutMark)
}

// cutChars cuts a text to n characters and adds a mark.
func cutChars(s string, n int, mark string) string {
	s = strings.ToValidUTF8(s, "\uFFFD")
	at := 0
	for i := range s {
		if at == n {
			return s[:i] + mark
		}
		at++
	}
	return s
}

func (p OutputParams) check() *Error {
	switch {
	case strings.TrimSpace(p.TaskID) == "":
		return invalid(textTaskID)
	case p.Stream != "stdout" && p.Stream != "stderr":
		return invalid(textStream)
	case p.LineNumber != nil && (p.Offset != nil || p.Limit != nil):
		return invalid(textLineAlone)
	case p.LineNumber == nil && (p.CharOffset != nil || p.CharLimit != nil):
		return invalid(textCharsAlone)
	}
	return nil
}
