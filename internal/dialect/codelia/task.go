package codelia

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/messages"
)

// task is one command. The session's mutex guards the fields below abandon.
type task struct {
	id, command, cwd, origin string
	label, key               string // key names it to the model; set when it is admitted
	timeout                  int64  // seconds; 0: none
	shell                    string // absolute path
	permit                   dialect.Permit
	known                    func(id string) // called when the host knows the job; nil: no one waits for that
	pipe                     bool
	created                  time.Time     // when it was admitted, after its confirmation
	input                    chan struct{} // capacity 1; held while a write is under way
	settling                 sync.Once
	begun                    chan struct{}   // closed when the task runs
	settled                  chan struct{}   // closed when the task has its result
	life                     context.Context //nolint:containedctx // of the job's run; ended by abandon
	abandon                  context.CancelFunc

	state            string
	updated, started time.Time
	ended            time.Time
	code             *int
	signal           *string
	out, err         excerpted
	failure, reason  string
	cleanup          string
	asked            string // reason of the pending cancellation; "": none
	forScope         bool
	badInput         string
	waits            map[chan struct{}]struct{} // one channel for each pending wait; closed to detach it
}

// excerpted is the excerpt of a stream and the reference of its full output.
type excerpted struct {
	text string
	cut  bool
	ref  string
}

// excerpt returns that of a stream. The caller holds the session's mutex.
func (t *task) excerpt(stream messages.Stream) *excerpted {
	if stream == messages.Stderr {
		return &t.err
	}
	return &t.out
}

// streams returns the streams of the task's job.
func (t *task) streams() []messages.Stream {
	if t.permit.Backend == messages.BackendPTY {
		return []messages.Stream{messages.Merged}
	}
	return []messages.Stream{messages.Stdout, messages.Stderr}
}

// source returns the stream of the job that has stdout or stderr of the task: a terminal has
// one for both, which is shown as stdout.
func (t *task) source(stream messages.Stream) messages.Stream {
	if t.permit.Backend == messages.BackendPTY && stream == messages.Stdout {
		return messages.Merged
	}
	return stream
}

// admit adds a task to the table and drops the oldest ended one if the table is full.
func (s *Session) admit(t *task) *Error {
	s.mu.Lock()
	defer s.mu.Unlock()
	switch {
	case s.closed:
		return &Error{Code: CodeBusy, Message: textClosed}
	case len(s.running()) >= maxRunning:
		return &Error{Code: CodeBusy, Message: fmt.Sprintf(textBusy, maxRunning)}
	}
	if len(s.tasks) >= maxRunning+maxKnown {
		at := slices.IndexFunc(s.tasks, func(t *task) bool { return !t.ended.IsZero() })
		s.tasks = slices.Delete(s.tasks, at, at+1)
	}
	t.key, t.created = s.freeKey(t), s.o.Now()
	t.updated = t.created
	s.tasks = append(s.tasks, t)
	return nil
}

func (s *Session) forget(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks = slices.DeleteFunc(s.tasks, func(have *task) bool { return have == t })
}

// running returns the tasks without a result. The caller holds s.mu.
func (s *Session) running() []*task {
	var all []*task
	for _, t := range s.tasks {
		if t.ended.IsZero() {
			all = append(all, t)
		}
	}
	return all
}

func (s *Session) find(id string) *task {
	s.mu.Lock()
	defer s.mu.Unlock()
	if at := slices.IndexFunc(s.tasks, func(t *task) bool { return t.id == id }); at >= 0 {
		return s.tasks[at]
	}
	return nil
}

// known returns the task that a request names.
func (s *Session) known(id string) (*task, *Error) {
	id = strings.TrimSpace(id)
	if id == "" {
		return nil, invalid(textTaskID)
	}
	if t := s.find(id); t != nil {
		return t, nil
	}
	return nil, invalid(textTask, id)
}

func (s *Session) started(t *task, job messages.Record) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.state == Queued {
		t.state, t.started, t.updated = Running, job.Started, s.o.Now()
		close(t.begun)
	}
}

// settle gives a task its result, once, from what its job has written so far. err says why
// there is no job.
func (s *Session) settle(t *task, job messages.Record, err error) {
	t.settling.Do(func() {
		out, errs := s.capture(t, job, messages.Stdout), s.capture(t, job, messages.Stderr)
		s.mu.Lock()
		defer s.mu.Unlock()
		t.out, t.err = out, errs
		t.ended = s.o.Now()
		t.updated = t.ended
		if t.started.IsZero() {
			t.started = job.Started
		}
		t.judge(job, err)
		close(t.settled)
	})
}

// judge sets the state of a task that has ended. The caller holds the session's mutex.
func (t *task) judge(job messages.Record, err error) {
	t.state = Failed
	term := "SIGTERM"
	switch {
	case err != nil:
		t.failure = fmt.Sprintf(textFailStart, err)
	case job.End.Cause.By == messages.ByDeadline:
		t.failure, t.signal = fmt.Sprintf(textFailTimeout, t.timeout), &term
	case job.End.Cause.By == messages.ByQuota:
		t.failure, t.signal = fmt.Sprintf(textFailLimit, captureLimit), &term
	case job.End.Cause.By != messages.ByNone:
		t.state, t.signal, t.reason = Cancelled, &term, t.asked
		switch {
		case t.reason == "" && job.End.Cause.Reason != "":
			t.reason = fmt.Sprintf(textCancelledBy, job.End.Cause.Reason)
		case t.reason == "":
			t.reason = textCancelled
		case t.forScope:
			t.cleanup = t.reason
		}
	case job.End.Outcome == messages.FailedToStart:
		t.failure = fmt.Sprintf(textFailStart, job.End.Err.Message)
	case job.End.Outcome == messages.Lost:
		t.failure = fmt.Sprintf(textFailLost, job.End.Err.Message)
	case job.End.Signal != "":
		name := "SIG" + job.End.Signal
		t.signal, t.failure = &name, fmt.Sprintf(textFailSignal, name)
	case job.End.Shell() != 0:
		t.code, t.failure = job.End.Code, fmt.Sprintf(textFailCode, job.End.Shell())
	default:
		t.code, t.state = job.End.Code, Completed
	}
}

// info returns the description of a task.
func (s *Session) info(t *task) TaskInfo {
	s.mu.Lock()
	defer s.mu.Unlock()
	i := TaskInfo{
		TaskID: t.id, State: t.state, CommandPreview: CommandPreview(t.command), Cwd: t.cwd,
		CreatedAt: stamp(t.created), UpdatedAt: stamp(t.updated), StartedAt: stamp(t.started), EndedAt: stamp(t.ended),
		ExitCode: t.code, Signal: t.signal, Stdout: t.out.text, Stderr: t.err.text, Truncated: t.cuts(), StdoutCacheID: t.out.ref, StderrCacheID: t.err.ref,
		FailureMessage: t.failure, CancellationReason: t.reason, CleanupReason: t.cleanup,
	}
	if !t.ended.IsZero() {
		took := t.took()
		i.DurationMS = &took
	}
	return i
}

func (t *task) cuts() Truncated { return Truncated{t.out.cut, t.err.cut, t.out.cut || t.err.cut} }

// took returns the duration of a task in milliseconds. Both times have a monotonic reading.
func (t *task) took() int64 { return t.ended.Sub(t.created).Milliseconds() }

// result returns the result of shell.exec.
func (s *Session) result(t *task) ExecResult {
	s.mu.Lock()
	defer s.mu.Unlock()
	return ExecResult{
		CommandPreview: CommandPreview(t.command), ExitCode: t.code, Signal: t.signal, Stdout: t.out.text, Stderr: t.err.text, Truncated: t.cuts(),
		DurationMS: t.took(), StdoutCacheID: t.out.ref, StderrCacheID: t.err.ref, FailureMessage: t.failure,
	}
}

func stamp(at time.Time) string {
	if at.IsZero() {
		return ""
	}
	return at.UTC().Format("2006-01-02T15:04:05.000Z07:00")
}

// stop stops the job of a task and returns when it is stopping. A task that the host does
// not know yet will not start.
func (s *Session) stop(ctx context.Context, t *task, reason string, forScope bool) error {
	s.mu.Lock()
	was, wasForScope := t.asked, t.forScope
	if was == "" {
		t.asked, t.forScope = reason, forScope
	}
	s.mu.Unlock()
	_, err := host.Ask(ctx, s.o.Host, messages.StopCommand{Job: messages.JobID(t.id), Grace: grace, Reason: reason})
	switch {
	case err == nil:
		return nil
	case errors.Is(err, &messages.Error{Code: messages.NotFound}):
		t.abandon()
		return nil
	}
	s.mu.Lock()
	t.asked, t.forScope = was, wasForScope
	s.mu.Unlock()
	if ctx.Err() == nil {
		s.o.Log.Warn("a shell task could not be ended", "task", t.id, "error", err)
	}
	return err
}
