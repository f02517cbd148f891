package codelia

import (
	"context"

	"troupe/internal/artifact"
	"troupe/messages"
)

// payload is what a tool of the shell family shows of a task.
type payload struct {
	Key                string `json:"key"`
	State              string `json:"state"`
	Command            string `json:"command"`
	DetachedWait       bool   `json:"detached_wait,omitempty"`
	StillRunning       bool   `json:"still_running,omitempty"`
	ExitCode           *int   `json:"exit_code,omitempty"`
	DurationMS         *int64 `json:"duration_ms,omitempty"`
	FailureMessage     string `json:"failure_message,omitempty"`
	CancellationReason string `json:"cancellation_reason,omitempty"`
	Stdout             string `json:"stdout,omitempty"`
	StdoutCacheID      string `json:"stdout_cache_id,omitempty"`
	Stderr             string `json:"stderr,omitempty"`
	StderrCacheID      string `json:"stderr_cache_id,omitempty"`
}

// brief returns the state of a task.
func (s *Session) brief(t *task) payload {
	s.mu.Lock()
	defer s.mu.Unlock()
	return payload{Key: t.key, State: t.state, Command: logCommand(t.command)}
}

// outcome returns the result of a task that has one. stderr of a success is shown on request.
func (s *Session) outcome(ctx context.Context, t *task, stderr bool) payload {
	i := s.info(t)
	p := s.brief(t)
	p.ExitCode, p.DurationMS, p.FailureMessage, p.CancellationReason = i.ExitCode, i.DurationMS, i.FailureMessage, i.CancellationReason
	if p.Stdout = trimmed(i.Stdout); p.Stdout != "" {
		p.StdoutCacheID = i.StdoutCacheID
	}
	if i.State == Completed && !stderr {
		i.Stderr = ""
	}
	if p.Stderr = trimmed(i.Stderr); p.Stderr != "" {
		p.StderrCacheID = i.StderrCacheID
	}
	return s.fitted(ctx, t, p)
}

// fitted cuts the streams of a result so that its message has at most artifact.NoteBytes, and
// caches what it cuts.
func (s *Session) fitted(ctx context.Context, t *task, p payload) payload {
	whole := p
	for most := artifact.NoteBytes; len(rendered(p)) > artifact.NoteBytes; most = most * 3 / 4 {
		p = whole
		if len(p.Stdout) > most {
			p.StdoutCacheID = s.cached(ctx, t, messages.Stdout)
			p.Stdout = CutMessage(p.Stdout, p.StdoutCacheID, most)
		}
		if len(p.Stderr) > most {
			p.StderrCacheID = s.cached(ctx, t, messages.Stderr)
			p.Stderr = CutMessage(p.Stderr, p.StderrCacheID, most)
		}
	}
	return p
}

// listed is a task of shell_list.
type listed struct {
	Key                string `json:"key"`
	Label              string `json:"label,omitempty"`
	Command            string `json:"command"`
	State              string `json:"state"`
	FailureMessage     string `json:"failure_message,omitempty"`
	CancellationReason string `json:"cancellation_reason,omitempty"`
}

// listing is the result of shell_list.
type listing struct {
	Tasks    []listed `json:"tasks"`
	Returned int      `json:"returned"`
	Limit    int64    `json:"limit"`
	State    *string  `json:"state"`
	Ended    bool     `json:"include_terminal"`
}

// written is the result of shell_stdin_write.
type written struct {
	Key    string `json:"key"`
	State  string `json:"state"`
	Bytes  int    `json:"bytes_written"`
	Closed bool   `json:"stdin_closed"`
}
