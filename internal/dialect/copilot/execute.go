package copilot

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"strconv"
	"time"

	"github.com/oklog/ulid/v2"

	"troupe/host"
	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/messages"
)

// initTime bounds the setup of a shell.
const initTime = 60 * time.Second

// Execute runs a command until it has ended or is in the background. If ctx ends first, the
// whole shell is shut down.
func (s *Session) Execute(ctx context.Context, p ExecuteParams, update func(dialect.Result)) (dialect.Result, error) {
	if bad := p.Check(); bad != nil {
		return failure(bad.Message, nil), nil
	}
	if assess := s.options.Settings.Shell.Assess; assess != nil {
		if err := assess(*p.Command, s.options.Protected); err != nil {
			return failure(err.Error(), nil), nil
		}
	}
	id := string(p.ShellID)
	if id != "" {
		done, err := s.turns.take(ctx, id)
		if err != nil {
			return s.unqueued(id, err)
		}
		defer done()
	} else {
		id = s.freshID()
	}
	if err := ctx.Err(); err != nil {
		return dialect.Result{}, err
	}
	if p.Detached() {
		return s.detach(ctx, id, p)
	}
	e, sh, refused := s.begin(ctx, id, p)
	if refused != nil {
		return *refused, nil
	}
	defer e.abandon()
	if why, err := s.prepare(e.life, sh); why != "" || err != nil {
		return s.unstarted(ctx, e, sh, why, err)
	}
	if p.Async() {
		return s.async(ctx, e, sh, p.Wait(s.options.Settings.InitialWait))
	}
	return s.sync(ctx, e, sh, p.Wait(s.options.Settings.InitialWait), update)
}

// freshID returns an id that no shell or task has.
func (s *Session) freshID() string {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		if id := s.ids.take(); s.tasks[id] == nil && s.shells[id] == nil {
			return id
		}
	}
}

// unqueued returns the result of a call that did not get its turn.
func (s *Session) unqueued(id string, err error) (dialect.Result, error) {
	if errors.Is(err, errQueue) {
		return failure(fmt.Sprintf(statusStart, fmt.Sprintf(whyQueue, id)), nil), nil
	}
	return dialect.Result{}, err
}

// begin enters a command in the tables, unless it may not start.
func (s *Session) begin(ctx context.Context, id string, p ExecuteParams) (*execution, *attached, *dialect.Result) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if refused := s.mayBegin(id); refused != nil {
		return nil, nil, refused
	}
	sh := s.open(id)
	if sh == nil {
		r := failure(fmt.Sprintf(statusStart, fmt.Sprintf(whyTooMany, mostShells)), &Details{ShellID: id})
		return nil, nil, &r
	}
	e := s.enter(ctx, id, p)
	sh.last = e
	sh.commands++
	return e, sh, nil
}

// mayBegin returns the result that says why no command may start in a shell, or nil. The
// caller holds s.mu.
func (s *Session) mayBegin(id string) *dialect.Result {
	names := s.options.Settings.Shell.Tools
	if s.closed {
		r := failure(fmt.Sprintf(statusStart, whyClosed), nil)
		return &r
	}
	if e := s.tasks[id]; e != nil && !e.ended {
		r := failure(fmt.Sprintf(statusBusy, id, names.Read, names.Stop), &Details{ShellID: id, Status: StatusRunning})
		return &r
	}
	return nil
}

// enter adds the task of a command and replaces the previous one. The caller holds s.mu.
func (s *Session) enter(ctx context.Context, id string, p ExecuteParams) *execution {
	if before := s.tasks[id]; before != nil {
		before.out.close()
		s.forget(before)
	}
	e := &execution{
		id: id, command: kept(*p.Command), description: kept(p.Description), async: p.Async(), detached: p.Detached(),
		text: *p.Command, digest: hash(*p.Command), length: len(*p.Command),
		uid: messages.UID(ulid.Make().String()), began: s.options.Now(), out: s.newCapture(p.Detached()), done: make(chan struct{}),
	}
	e.life, e.abandon = context.WithCancel(ctx)
	s.tasks[id] = e
	s.order = append(s.order, e)
	return e
}

// prepare runs the init of a live shell. why says how it failed; the shell is unusable
// then.
func (s *Session) prepare(ctx context.Context, sh *attached) (why string, err error) {
	init := s.options.Settings.Shell.Init
	s.mu.Lock()
	ready := sh.ready || init == "" || sh.session == ""
	sh.ready = true
	s.mu.Unlock()
	if ready {
		return "", nil
	}
	r := s.request(&execution{uid: messages.UID(ulid.Make().String()), description: "init"}, sh, init, s.options.Dir)
	r.Timeout = initTime
	job, _, err := s.options.Host.Run(ctx, r, 0, nil)
	switch {
	case err != nil:
		return "", err
	case job.End.Outcome == messages.TimedOut:
		return fmt.Sprintf(whyInit, fmt.Sprintf(whyInitTime, initTime)), nil
	case job.End.Outcome == messages.Exited && job.End.Shell() != 0:
		return fmt.Sprintf(whyInit, fmt.Sprintf(whyInitCode, job.End.Shell())), nil
	case job.End.Outcome != messages.Exited || job.HasFlag(messages.FlagSessionEnded):
		_, why := outcome(job)
		return fmt.Sprintf(whyInit, why), nil
	}
	return "", nil
}

// unstarted returns the result of a command that did not start, and shuts down its shell.
func (s *Session) unstarted(ctx context.Context, e *execution, sh *attached, why string, err error) (dialect.Result, error) {
	if ctx.Err() != nil {
		return dialect.Result{}, s.abort(ctx, e, sh)
	}
	switch {
	case s.standing(e).stopped: // before the command started
		why = whyStopped
	case err != nil:
		why = err.Error()
	}
	s.ended(e, messages.Record{End: messages.End{Outcome: messages.FailedToStart, Err: messages.Error{Message: why}}}, nil)
	s.finish(e, sh, ReasonError)
	st := s.standing(e)
	return failure(fmt.Sprintf(statusError, e.id, st.why), &Details{ShellID: e.id, Status: StatusFailed, ExitCode: st.exit}), nil
}

// abort shuts down the shell of a cancelled call.
func (s *Session) abort(ctx context.Context, e *execution, sh *attached) error {
	s.mu.Lock()
	e.stopped = true
	s.mu.Unlock()
	s.ended(e, messages.Record{End: messages.End{Outcome: messages.Cancelled}}, nil)
	s.finish(e, sh, ReasonStopped)
	return ctx.Err()
}

// finish removes an ended command and its shell from the tables, and closes the shell in
// the background.
func (s *Session) finish(e *execution, sh *attached, why Reason) {
	s.mu.Lock()
	s.forget(e)
	open := s.shells[sh.id] == sh
	if open {
		s.drop(sh, why)
	}
	again := e.stopped // the command may have opened its shell again after a stop closed it
	s.mu.Unlock()
	if open || again {
		s.closeBeside(sh)
	}
	e.out.close()
}

// async starts a command in the background and returns. within bounds the start; 0:
// unbounded.
func (s *Session) async(ctx context.Context, e *execution, sh *attached, within time.Duration) (dialect.Result, error) {
	r := s.request(e, sh, e.text, s.options.Dir)
	r.Mode = messages.ModeAsync
	bounded := e.life
	if within > 0 {
		var stop context.CancelFunc
		bounded, stop = context.WithTimeout(e.life, within)
		defer stop()
	}
	job, _, err := s.options.Host.Run(bounded, r, 0, nil)
	if err != nil || job.End.Outcome == messages.FailedToStart {
		_, why := outcome(job)
		return s.unstarted(ctx, e, sh, why, err)
	}
	s.closeStopped(e, sh)
	d := s.inBackground(e, job, false)
	return dialect.Result{Text: joined(replaced(job), fmt.Sprintf(statusStarted, e.id)), Details: d}, nil
}

// closeStopped closes the shell of a command that was stopped before the host knew it, and
// that has started all the same.
func (s *Session) closeStopped(e *execution, sh *attached) {
	if s.standing(e).stopped {
		s.closeBeside(sh)
	}
}

// replaced returns a note if the command got a new shell because the old one had ended.
func replaced(job messages.Record) string {
	if job.HasFlag(messages.FlagReplaced) {
		return noteReplaced
	}
	return ""
}

// inBackground moves a command to the background and returns its details.
func (s *Session) inBackground(e *execution, job messages.Record, byPerson bool) *Details {
	s.mu.Lock()
	e.started, e.background, e.promoted, e.record, e.text = true, true, byPerson, job, ""
	s.mu.Unlock()
	d := s.details(e, job)
	s.watch(e)
	return d
}

// detachedNow returns the number of running detached commands. The caller holds s.mu.
func (s *Session) detachedNow() int {
	n := 0
	for _, e := range s.order {
		if e.detached && !e.ended {
			n++
		}
	}
	return n
}

// detach starts a detached command. Its keeper writes its log and its pid file. An
// attached shell with the same id is closed.
func (s *Session) detach(ctx context.Context, id string, p ExecuteParams) (dialect.Result, error) {
	s.mu.Lock()
	sh := s.shells[id]
	s.mu.Unlock()
	dir := s.dirOf(ctx, sh)
	s.mu.Lock()
	refused := s.mayBegin(id)
	if refused == nil && s.detachedNow() >= mostDetached {
		r := failure(fmt.Sprintf(statusStart, fmt.Sprintf(whyTooMany, mostDetached)), &Details{ShellID: id})
		refused = &r
	}
	if refused != nil {
		s.mu.Unlock()
		return *refused, nil
	}
	e := s.enter(ctx, id, p)
	defer e.abandon()
	e.logPath = filepath.Join(s.options.Settings.DetachedDir, fmt.Sprintf("%s-%s-%s.log", s.options.Settings.DetachedName, artifact.SessionName(id), strconv.FormatInt(e.began.UnixMilli(), 10)))
	sh = s.shells[id]
	delete(s.shells, id)
	s.mu.Unlock()
	if sh != nil {
		s.closeBeside(sh)
	}
	r := s.request(e, nil, e.text, dir)
	r.Mode, r.LogFile, r.OnExit = messages.ModeDetached, e.logPath, ""
	job, _, err := s.options.Host.Run(e.life, r, 0, nil)
	if err == nil && s.standing(e).stopped { // stopped before the host knew it, but started all the same
		_, err = host.Ask(ctx, s.options.Host, messages.StopCommand{Job: e.job(), Grace: grace, Reason: stoppedByAgent})
		job.End.Outcome = messages.FailedToStart
	}
	if err != nil || job.End.Outcome == messages.FailedToStart {
		_, why := outcome(job)
		return s.unstarted(ctx, e, &attached{id: id, last: e}, why, err)
	}
	return dialect.Result{Text: fmt.Sprintf(statusDetached, id, e.logPath), Details: s.inBackground(e, job, false)}, nil
}
