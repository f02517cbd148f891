package codelia

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ShellResult is one <shell_result> block. Absent fields are omitted, except exit_code and
// signal, which are null. A reader treats both alike.
type ShellResult struct {
	ID             string    `json:"id"`
	CommandPreview string    `json:"command_preview"`
	ExitCode       *int      `json:"exit_code"`
	Signal         *string   `json:"signal"`
	DurationMS     int64     `json:"duration_ms"`
	Stdout         *string   `json:"stdout,omitempty"`
	Stderr         *string   `json:"stderr,omitempty"`
	StdoutExcerpt  *string   `json:"stdout_excerpt,omitempty"`
	StderrExcerpt  *string   `json:"stderr_excerpt,omitempty"`
	StdoutCacheID  *string   `json:"stdout_cache_id,omitempty"`
	StderrCacheID  *string   `json:"stderr_cache_id,omitempty"`
	Truncated      Truncated `json:"truncated"`
}

// Result returns the block for a result of shell.exec.
func Result(id string, r ExecResult) ShellResult {
	s := ShellResult{
		ID: id, CommandPreview: CommandPreview(r.CommandPreview), ExitCode: r.ExitCode, Signal: r.Signal, DurationMS: r.DurationMS,
		StdoutCacheID: given(r.StdoutCacheID), StderrCacheID: given(r.StderrCacheID), Truncated: r.Truncated,
	}
	if s.Stdout = &r.Stdout; r.Truncated.Stdout {
		s.Stdout, s.StdoutExcerpt = nil, &r.Stdout
	}
	if s.Stderr = &r.Stderr; r.Truncated.Stderr {
		s.Stderr, s.StderrExcerpt = nil, &r.Stderr
	}
	return s
}

func given(s string) *string {
	if s == "" {
		return nil
	}
	return &s
}

// Block renders the result for a message. It escapes < and >, so that no text can end the
// block early.
func (s ShellResult) Block() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // & stays unescaped
	_ = e.Encode(s)        // cannot fail: strings and numbers
	line := strings.TrimSuffix(b.String(), "\n")
	line = strings.NewReplacer("<", `\u003c`, ">", `\u003e`).Replace(line)
	return textBlockOpen + "\n" + line + "\n" + textBlockClose
}

// maxPending bounds the queue. A full queue drops its oldest result.
const maxPending = 64

// Queue holds the results for the next message in the order of their commands
// (pending_shell_results). It belongs to one console and is not safe for concurrent use.
// The zero Queue is empty.
type Queue struct {
	pending []ShellResult
	given   int
}

// Add appends a result, with an id that is unique in the session.
func (q *Queue) Add(r ExecResult) ShellResult {
	q.given++
	s := Result("shell_"+strconv.Itoa(q.given), r)
	q.pending = append(q.pending, s)
	q.pending = q.pending[max(0, len(q.pending)-maxPending):]
	return s
}

// Len returns the number of waiting results.
func (q *Queue) Len() int { return len(q.pending) }

// Message is a message with the results in it.
type Message struct {
	Text string
	used []ShellResult
}

// Results returns the number of results in the message.
func (m Message) Results() int { return len(m.used) }

// Snapshot makes a message of all results and the user's text. The queue keeps the
// results until Sent.
func (q *Queue) Snapshot(text string) Message {
	if len(q.pending) == 0 {
		return Message{Text: text}
	}
	m := Message{used: slices.Clone(q.pending)}
	blocks := make([]string, 0, len(q.pending))
	for _, s := range q.pending {
		blocks = append(blocks, s.Block())
	}
	m.Text = strings.Join(blocks, "\n") + "\n\n" + text
	return m
}

// Sent removes the results of a message whose run has started.
func (q *Queue) Sent(m Message) {
	q.pending = slices.DeleteFunc(q.pending, func(s ShellResult) bool {
		return slices.ContainsFunc(m.used, func(used ShellResult) bool { return used.ID == s.ID })
	})
}

// Hold makes the message for a run that has to wait, and removes its results from the
// queue. Therefore they are used once.
func (q *Queue) Hold(text string) Message {
	m := q.Snapshot(text)
	q.Sent(m)
	return m
}

// Return puts the results of a held message that was not sent back before the others.
func (q *Queue) Return(m Message) {
	q.Sent(m)
	q.pending = append(slices.Clone(m.used), q.pending...)
	q.pending = q.pending[max(0, len(q.pending)-maxPending):]
}

// Limits of the retries of a waiting message's dispatch.
const (
	DispatchTries = 5
	DispatchPause = 200 * time.Millisecond
)

// Retry reports whether a dispatch that has failed so many times is retried, and after what
// pause.
func Retry(failures int) (time.Duration, bool) {
	if failures < 1 || failures > DispatchTries {
		return 0, false
	}
	return DispatchPause, true
}
