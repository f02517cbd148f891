package codelia

import "strings"

// shellParams holds the parameters of the tool shell.
type shellParams struct {
	Command      string `json:"command" doc:"shell command; it runs in the directory of the session"`
	Label        string `json:"label,omitempty" doc:"a few words that begin the key of the task (at most 80 characters)"`
	Timeout      *int64 `json:"timeout,omitempty" doc:"seconds until it is stopped: 120, at most 300; with detached_wait none, at most 2147483"`
	DetachedWait bool   `json:"detached_wait,omitempty" doc:"return the key of the task at once instead of waiting for its end; the task ends with the session (false)"`
	StdinMode    string `json:"stdin_mode,omitempty" enum:"closed,pipe" doc:"pipe, with detached_wait: shell_stdin_write can write to it (closed)"`
	Stderr       bool   `json:"include_stderr_on_success,omitempty" doc:"show stderr of a command that has succeeded, too (false)"`
}

func (p shellParams) check() *Error {
	switch {
	case len([]rune(p.Label)) > maxLabel:
		return invalid(textLabel, maxLabel)
	case p.Timeout != nil && *p.Timeout < 1:
		return invalid(textToolTimeout)
	case p.Timeout != nil && !p.DetachedWait && *p.Timeout > maxSeconds:
		return invalid(textToolTimeoutMost, maxSeconds)
	case p.Timeout != nil && *p.Timeout > maxTaskSeconds:
		return invalid(textToolTimeoutTask, maxTaskSeconds)
	}
	return nil
}

// keyParams holds the parameters of shell_status and shell_cancel.
type keyParams struct {
	Key string `json:"key" doc:"key of the task, from shell or shell_list"`
}

// listParams holds the parameters of shell_list.
type listParams struct {
	Limit *int64 `json:"limit,omitempty" doc:"tasks to list (20, at most 100)"`
	State string `json:"state,omitempty" enum:"queued,running,completed,failed,cancelled" doc:"list the tasks in this state alone"`
	Ended bool   `json:"include_terminal,omitempty" doc:"list tasks that have ended, too (false)"`
}

// logsParams holds the parameters of shell_logs.
type logsParams struct {
	Key       string `json:"key" doc:"key of the task, from shell or shell_list"`
	Stream    string `json:"stream,omitempty" enum:"stdout,stderr" doc:"stream to read (stdout)"`
	TailLines *int64 `json:"tail_lines,omitempty" doc:"show so many of the last lines (at most 500)"`
}

// waitParams holds the parameters of shell_wait.
type waitParams struct {
	Key     string   `json:"key" doc:"key of the task, from shell or shell_list"`
	Timeout *float64 `json:"wait_timeout,omitempty" doc:"seconds to wait: 120, at most 300; the task continues then"`
	Stderr  bool     `json:"include_stderr_on_success,omitempty" doc:"show stderr of a command that has succeeded, too (false)"`
}

// resultParams holds the parameters of shell_result.
type resultParams struct {
	Key    string `json:"key" doc:"key of the task, from shell or shell_list"`
	Stderr bool   `json:"include_stderr_on_success,omitempty" doc:"show stderr of a command that has succeeded, too (false)"`
}

// stdinParams holds the parameters of shell_stdin_write.
type stdinParams struct {
	Key           string `json:"key" doc:"key of a task with stdin_mode pipe"`
	Text          string `json:"text" doc:"text to write, at most 64 KiB; it may be empty with close"`
	AppendNewline bool   `json:"append_newline,omitempty" doc:"write a newline after the text (false)"`
	Close         bool   `json:"close,omitempty" doc:"close stdin after the text (false)"`
}

// data returns what is written.
func (p stdinParams) data() string {
	if p.AppendNewline {
		return p.Text + "\n"
	}
	return p.Text
}

// trimmed returns a text without the blanks at its end, "" if it has nothing else.
func trimmed(text string) string { return strings.TrimRight(text, " \t\r\n") }
