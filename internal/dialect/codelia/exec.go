package codelia

import (
	"context"
	"strings"
	"time"

	"github.com/oklog/ulid/v2"

	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// Exec implements shell.exec: it runs a command that the user has typed, without
// confirmation. It returns when the command has ended or is stopping. If ctx ends, the
// command is stopped. The error is an *Error, or that of ctx.
func (s *Session) Exec(ctx context.Context, p ExecParams) (ExecResult, error) {
	return s.ExecWatched(ctx, p, nil)
}

// ExecWatched runs a command as Exec does, for a user who watches: known, if not nil, receives the id of the task, which
// is that of its job, as soon as the host knows the job. Cancel stops the task.
func (s *Session) ExecWatched(ctx context.Context, p ExecParams, known func(taskID string)) (ExecResult, error) {
	timeout, bad := seconds(p.TimeoutSeconds, textTimeout)
	if bad != nil {
		return ExecResult{}, bad
	}
	t, err := s.task(p, originBang, timeout)
	if err != nil {
		return ExecResult{}, err
	}
	t.known = known
	s.o.Log.Info(logStart, "origin", t.origin, "cwd", t.cwd, "timeout", t.timeout, "command", logCommand(t.command))
	if err := s.launch(ctx, t, messages.ModeSync); err != nil {
		return ExecResult{}, err
	}
	if err := s.await(ctx, t); err != nil {
		return ExecResult{}, err
	}
	r := s.result(t)
	s.o.Log.Info(logDone, "origin", t.origin, "duration_ms", r.DurationMS, "exit_code", value(r.ExitCode), "signal", value(r.Signal))
	return r, nil
}

// await waits for the result of a task, and stops the task if ctx ends first.
func (s *Session) await(ctx context.Context, t *task) error {
	select {
	case <-t.settled:
		return nil
	case <-ctx.Done():
		s.o.Beside.Go(func() { _ = s.stop(s.ctx, t, textCancelled, false) }) // stop logs its error
		return ctx.Err()
	}
}

func value[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

// Start implements shell.start: it starts a task and returns.
func (s *Session) Start(ctx context.Context, p StartParams) (TaskInfo, error) {
	timeout, bad := taskSeconds(p.TimeoutSeconds)
	if bad != nil {
		return TaskInfo{}, bad
	}
	t, err := s.begin(ctx, p, timeout, messages.ModeAsync)
	if err != nil {
		return TaskInfo{}, err
	}
	return s.info(t), nil
}

// begin launches a task of an agent, after its confirmation.
func (s *Session) begin(ctx context.Context, p StartParams, timeout int64, mode messages.Mode) (*task, error) {
	switch {
	case p.StdinMode != "" && p.StdinMode != "closed" && p.StdinMode != "pipe":
		return nil, invalid(textStdinMode)
	case p.StdinMode == "pipe" && !p.Detached:
		return nil, invalid(textStdinDetach)
	}
	t, err := s.task(p.ExecParams, originAgent, timeout)
	if err != nil {
		return nil, err
	}
	t.pipe, t.label = p.StdinMode == "pipe", p.Label
	if err := s.confirm(ctx, t); err != nil {
		return nil, err
	}
	s.o.Log.Info("shell.start", "origin", t.origin, "cwd", t.cwd, "timeout", t.timeout, "command", logCommand(t.command))
	if err := s.launch(ctx, t, mode); err != nil {
		return nil, err
	}
	return t, nil
}

func (s *Session) confirm(ctx context.Context, t *task) error {
	if s.o.Confirm == nil {
		return nil
	}
	ok, why, err := s.o.Confirm(ctx, t.command, t.cwd)
	switch {
	case ctx.Err() != nil:
		return ctx.Err()
	case err != nil:
		return internal(err)
	case !ok && strings.TrimSpace(why) != "":
		return &Error{Code: CodeInternal, Message: textRefused + ": " + cutChars(strings.TrimSpace(why), logChars, textCutMark)}
	case !ok:
		return &Error{Code: CodeInternal, Message: textRefused}
	}
	return nil
}

// task makes the task for a request, which the policy must allow.
func (s *Session) task(p ExecParams, origin string, timeout int64) (*task, error) {
	command := strings.TrimSpace(p.Command)
	switch {
	case command == "":
		return nil, invalid(textCommand)
	case strings.ContainsRune(command, 0) || strings.ContainsRune(p.Cwd, 0):
		return nil, invalid(textNul)
	}
	dir, err := shelltext.Cwd(s.o.FS, shelltext.Place{Session: s.o.Dir}, p.Cwd)
	if err != nil {
		return nil, invalid("%s", err)
	}
	shell := shelltext.SelectLogin(s.o.Env, shelltext.Executable(s.o.FS)).Path
	permit, err := s.o.Policy.Allow(dialect.Intent{Text: command, Argv: []string{shell, "-lc", command}, Dir: dir, Origin: origin})
	if err != nil {
		return nil, err
	}
	return &task{
		id: ulid.Make().String(), command: command, cwd: dir, origin: origin, timeout: timeout, shell: shell, permit: permit, state: Queued,
		input: make(chan struct{}, 1), begun: make(chan struct{}), settled: make(chan struct{}), waits: map[chan struct{}]struct{}{},
	}, nil
}

// launch runs the job of a task in the background. For a background task it waits until the
// task has started.
func (s *Session) launch(ctx context.Context, t *task, mode messages.Mode) error {
	t.life, t.abandon = dialect.Within(ctx, s.ctx)
	if bad := s.admit(t); bad != nil {
		t.abandon()
		return bad
	}
	s.subscribe(ctx)
	if ctx.Err() != nil {
		t.abandon()
		s.forget(t)
		return ctx.Err()
	}
	s.o.Beside.Go(func() { s.run(t, mode) })
	if mode.Background() {
		select {
		case <-t.begun:
		case <-t.settled:
		case <-ctx.Done(): // the task is in the list
		}
	}
	return nil
}

// run runs the job of a task until it has ended.
func (s *Session) run(t *task, mode messages.Mode) {
	ctx := t.life
	defer t.abandon()
	known, watched := make(chan struct{}), make(chan struct{})
	watchCtx, stopWatch := context.WithCancel(ctx)
	begin := func(id messages.JobID) {
		close(known)
		if t.known != nil {
			t.known(t.id)
		}
		s.o.Beside.Go(func() {
			defer close(watched)
			s.watchSize(watchCtx, id, t.streams())
		})
	}
	job, _, err := s.o.Host.Run(ctx, s.request(t, mode), 0, begin)
	if err == nil && !job.State.Ended() { // in the background from the start, or promoted by a person
		s.started(t, job)
		if job, err = dialect.WaitEnd(ctx, s.o.Host, messages.JobID(t.id)); err != nil && ctx.Err() == nil {
			job, err = messages.Record{End: messages.End{Outcome: messages.Lost, Err: messages.Error{Message: err.Error()}}}, nil
		}
	}
	stopWatch()
	select {
	case <-known:
		<-watched
	default: // the host refused the job
	}
	if ctx.Err() != nil && err != nil { // the session was closed, or the task was cancelled before it started
		job, err = messages.Record{End: messages.End{Cause: messages.Cause{By: messages.ByScope, Reason: textScopeEnded}}}, nil
	}
	s.settle(t, job, err)
}

// beyond is how much longer than captureLimit a log may be. Without it the quota would end
// a job that just reaches the limit.
const beyond = 64 << 10

// terminal is the size of the terminal of a task whose policy wants one.
var terminal = messages.Terminal{Rows: 24, Cols: 80}

// request returns the host request for a task, which uses the user's login shell.
func (s *Session) request(t *task, mode messages.Mode) messages.RunCommand {
	r := messages.RunCommand{
		UID: messages.UID(t.id), Scope: s.o.Scope, Labels: messages.Labels{Tag: tag(s.o.Owner, t.origin), Description: t.origin}, Dir: t.cwd,
		Program: messages.Program{Argv: t.permit.Argv},
		Env:     messages.Env{Policy: messages.EnvCaller, Base: s.o.Env}, Stdio: messages.Stdio{Streams: messages.SeparateStreams, Stdin: messages.StdinNull}, Mode: mode,
		Timeout: time.Duration(t.timeout) * time.Second, Grace: grace, Store: messages.Store{Quota: messages.Quota{Bytes: captureLimit + beyond, Policy: "kill"}},
	}
	if t.permit.Backend == messages.BackendPTY {
		r.Stdio = messages.Stdio{Terminal: terminal}
	}
	if t.origin != originBang {
		r.Env.Base = shelltext.AgentEnvironment(s.o.Env, t.shell, s.o.PassEnv)
	}
	if t.pipe {
		r.Stdin = messages.StdinPipe
	}
	return r
}
