package codelia

import (
	"bytes"
	"encoding/json"
	"slices"
	"strconv"
	"strings"
	"time"
)

// ShellResult is one <shell_result> block. What is absent is left out but for exit_code
// and signal, which are null; a reader takes both for absent.
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

// Result is the block of what shell.exec has answered.
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

// Block is the result as it stands in a message. No text in it can end it early: < and >
// are escaped.
func (s ShellResult) Block() string {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false) // an & stays as it is
	_ = e.Encode(s)        // of strings and numbers
	line := strings.TrimSuffix(b.String(), "\n")
	line = strings.NewReplacer("<", `\u003c`, ">", `\u003e`).Replace(line)
	return textBlockOpen + "\n" + line + "\n" + textBlockClose
}

// TakeBlocks reads the blocks at the beginning of a message, and the user's text behind
// them. What is no block is text.
func TakeBlocks(message string) (results []ShellResult, text string) {
	text = message
	for {
		rest, ok := strings.CutPrefix(text, textBlockOpen+"\n")
		if !ok {
			break
		}
		line, behind, ok := strings.Cut(rest, "\n"+textBlockClose)
		var s ShellResult
		if !ok || json.Unmarshal([]byte(line), &s) != nil {
			return results, text
		}
		results = append(results, s)
		if text, ok = strings.CutPrefix(behind, "\n\n"); ok || behind == "" {
			return results, text
		}
		text = strings.TrimPrefix(behind, "\n")
	}
	return results, text
}

// maxPending bounds the queue: more results than that no message is meant to carry, and
// the oldest go.
const maxPending = 64

// Queue has the results that wait for the next message, in the order of their commands
// (pending_shell_results). It is a console's own, and not safe for concurrent use. The
// zero Queue is empty.
type Queue struct {
	pending []ShellResult
	given   int
}

// Add puts a result behind the others, by an id that no other of the session has
//
func (q *Queue) Add(r ExecResult) ShellResult {
	q.given++
	s := Result("shell_"+strconv.Itoa(q.given), r)
	q.pending = append(q.pending, s)
	q.pending = q.pending[max(0, len(q.pending)-maxPending):]
	return s
}

// Len is how many results wait.
func (q *Queue) Len() int { return len(q.pending) }

// Message is a message with the results that it carries.
type Message struct {
	Text string
	used []string
}

// Snapshot makes a message of the user's text with all results before it. The
// queue keeps them until Sent; a result that an unsent snapshot has is in no other.
func (q *Queue) Snapshot(text string) Message {
	if len(q.pending) == 0 {
		return Message{Text: text}
	}
	var m Message
	blocks := make([]string, 0, len(q.pending))
	for _, s := range q.pending {
		blocks, m.used = append(blocks, s.Block()), append(m.used, s.ID)
	}
	m.Text = strings.Join(blocks, "\n") + "\n\n" + text
	return m
}

// Sent says that the run of a message has started: its results are used.
func (q *Queue) Sent(m Message) {
	q.pending = slices.DeleteFunc(q.pending, func(s ShellResult) bool { return slices.Contains(m.used, s.ID) })
}

// Hold makes the snapshot of a message that waits for a run to end: its results are its
// own from now on, so that they are used once.
func (q *Queue) Hold(text string) Message {
	m := q.Snapshot(text)
	q.Sent(m)
	return m
}

// A dispatch of a message that waited is retried so often, so far apart.
const (
	DispatchTries = 5
	DispatchPause = 200 * time.Millisecond
)

// Retry says whether a dispatch that has failed so many times is tried again, and after
// how long.
func Retry(failures int) (time.Duration, bool) {
	if failures < 1 || failures > DispatchTries {
		return 0, false
	}
	return DispatchPause, true
}
