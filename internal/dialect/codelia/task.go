package codelia

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"

	"troupe/messages"
)

// task is one command. Its fields below settled are guarded by the session's lock.
type task struct {
	id, command, cwd, origin string
	timeout                  int64 // seconds; 0: none
	pipe                     bool
	created                  time.Time
	input                    chan struct{} // held by who writes
	settling                 sync.Once
	begun                    chan struct{}   // closed when it runs
	settled                  chan struct{}   // closed when it has its result
	life                     context.Context //nolint:containedctx // of its job: what begins it ends with it
	abandon                  context.CancelFunc

	state            string
	updated, started time.Time
	ended            time.Time
	code             *int
	signal           *string
	out, err         captured
	failure, reason  string
	cleanup          string
	asked            string // why it is being cancelled
	forScope         bool
	badInput         string
	waits            map[chan struct{}]struct{} // of those who wait; closed to detach them
}

// captured is what is shown of a stream, and where all of it is.
type captured struct {
	text string
	cut  bool
	ref  string
}

// admit puts a task into the table, and the oldest that has ended out of it.
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
	s.tasks = append(s.tasks, t)
	return nil
}

func (s *Session) forget(t *task) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.tasks = slices.DeleteFunc(s.tasks, func(have *task) bool { return have == t })
}

// running are the tasks without a result. Called with s.mu.
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

// known is the task of a request.
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

func (s *Session) started(t *task, job messages.Job) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if t.state == Queued {
		t.state, t.started, t.updated = Running, job.Started, s.o.Now()
		close(t.begun)
	}
}

// settle gives a task its result, once: of what its job has written by then. err is why
// there is no job.
func (s *Session) settle(t *task, job messages.Job, err error) {
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

// judge says how a task has ended. Called with the session's lock.
func (t *task) judge(job messages.Job, err error) {
	t.state = Failed
	term := "SIGTERM"
	switch {
	case err != nil:
		t.failure = fmt.Sprintf(textFailStart, err)
	case job.Cause.By == messages.ByDeadline:
		t.failure, t.signal = fmt.Sprintf(textFailTimeout, t.timeout), &term
	case job.Cause.By == messages.ByQuota:
		t.failure, t.signal = fmt.Sprintf(textFailLimit, captureLimit), &term
	case job.Cause.By != messages.ByNone:
		t.state, t.signal, t.reason = Cancelled, &term, t.asked
		switch {
		case t.reason == "" && job.Cause.Reason != "":
			t.reason = fmt.Sprintf(textCancelledBy, job.Cause.Reason)
		case t.reason == "":
			t.reason = textCancelled
		case t.forScope:
			t.cleanup = t.reason
		}
	case job.Outcome == messages.FailedToStart:
		t.failure = fmt.Sprintf(textFailStart, job.Err.Message)
	case job.Outcome == messages.Lost:
		t.failure = fmt.Sprintf(textFailLost, job.Err.Message)
	case job.Status.Signal != "":
		name := "SIG" + job.Status.Signal
		t.signal, t.failure = &name, fmt.Sprintf(textFailSignal, name)
	case job.Status.Code != 0:
		t.code, t.failure = &job.Status.Code, fmt.Sprintf(textFailCode, job.Status.Code)
	default:
		t.code, t.state = &job.Status.Code, Completed
	}
}

// info is what is known of a task.
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

// took is how long a task took: both times are readings of one clock, which is monotonic.
func (t *task) took() int64 { return t.ended.Sub(t.created).Milliseconds() }

// result is that of shell.exec.
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

// stop asks for the end of a task, and returns when it is being ended. A task that the host
// does not know yet will not begin.
func (s *Session) stop(ctx context.Context, t *task, reason string, forScope bool) error {
	s.mu.Lock()
	was, wasForScope := t.asked, t.forScope
	if was == "" {
		t.asked, t.forScope = reason, forScope
	}
	s.mu.Unlock()
	_, err := s.o.Host.Stop(ctx, messages.StopCommand{Job: messages.JobID(t.id), Grace: grace, Reason: reason})
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
