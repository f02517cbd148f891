package codelia

import (
	"context"
	"fmt"
	"slices"
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
	timeout, bad := seconds(p.TimeoutSeconds, textTimeout)
	if bad != nil {
		return ExecResult{}, bad
	}
	t, bad := s.task(p, originBang, timeout)
	if bad != nil {
		return ExecResult{}, bad
	}
	s.o.Log.Info(logStart, "origin", t.origin, "cwd", t.cwd, "timeout", t.timeout, "command", logCommand(t.command))
	if bad := s.launch(ctx, t, messages.ModeSync); bad != nil {
		return ExecResult{}, bad
	}
	select {
	case <-t.settled:
	case <-ctx.Done():
		s.o.Beside.Go(func() { _ = s.stop(s.ctx, t, textCancelled, false) }) // stop logs its error
		return ExecResult{}, ctx.Err()
	}
	r := s.result(t)
	s.o.Log.Info(logDone, "origin", t.origin, "duration_ms", r.DurationMS, "exit_code", value(r.ExitCode), "signal", value(r.Signal))
	return r, nil
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
	switch {
	case bad != nil:
		return TaskInfo{}, bad
	case p.StdinMode != "" && p.StdinMode != "closed" && p.StdinMode != "pipe":
		return TaskInfo{}, invalid(textStdinMode)
	case p.StdinMode == "pipe" && !p.Detached:
		return TaskInfo{}, invalid(textStdinDetach)
	}
	if p.Origin == "" {
		p.Origin = originAgent
	}
	t, bad := s.task(p.ExecParams, p.Origin, timeout)
	if bad != nil {
		return TaskInfo{}, bad
	}
	t.pipe = p.StdinMode == "pipe"
	if s.o.Confirm != nil {
		ok, err := s.o.Confirm(ctx, t.command, t.cwd)
		switch {
		case ctx.Err() != nil:
			return TaskInfo{}, ctx.Err()
		case err != nil:
			return TaskInfo{}, internal(err)
		case !ok:
			return TaskInfo{}, &Error{Code: CodeInternal, Message: textRefused}
		}
	}
	s.o.Log.Info("shell.start", "origin", t.origin, "cwd", t.cwd, "timeout", t.timeout, "command", logCommand(t.command))
	if bad := s.launch(ctx, t, messages.ModeAsync); bad != nil {
		return TaskInfo{}, bad
	}
	return s.info(t), nil
}

// task makes the task for a request. The command must be allowed, and its directory within
// the sandbox.
func (s *Session) task(p ExecParams, origin string, timeout int64) (*task, *Error) {
	command := strings.TrimSpace(p.Command)
	if command == "" {
		return nil, invalid(textCommand)
	}
	if name := denied(command, s.o.Settings.Deny); name != "" {
		return nil, &Error{Code: CodeInternal, Message: fmt.Sprintf(textDenied, name)}
	}
	dir, err := shelltext.Cwd(s.o.FS, shelltext.Place{Session: s.o.Dir}, p.Cwd)
	if err != nil {
		return nil, invalid("%s", err)
	}
	root, err := shelltext.RealPath(s.o.FS, s.o.Settings.SandboxRoot)
	if err != nil {
		return nil, internal(err)
	}
	if !shelltext.Within(root, dir) {
		return nil, invalid(textCwd, p.Cwd)
	}
	now := s.o.Now()
	t := &task{
		id: ulid.Make().String(), command: command, cwd: dir, origin: origin, timeout: timeout, created: now, updated: now, state: Queued,
		input: make(chan struct{}, 1), begun: make(chan struct{}), settled: make(chan struct{}), waits: map[chan struct{}]struct{}{},
	}
	return t, nil
}

// denied returns the first denied command name in a text, or "". It judges a text that does
// not parse by its words.
func denied(command string, deny []string) string {
	if len(deny) == 0 {
		return ""
	}
	names := strings.Fields(command)
	if script, err := shelltext.Parse(command); err == nil {
		names = names[:0]
		for _, c := range script.Commands {
			names = append(names, c.Name())
		}
	}
	for _, name := range names {
		if slices.Contains(deny, name) || slices.Contains(deny, name[strings.LastIndex(name, "/")+1:]) {
			return name
		}
	}
	return ""
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
		s.o.Beside.Go(func() {
			defer close(watched)
			s.watchSize(watchCtx, id)
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

// request returns the host request for a task, which uses the user's login shell.
func (s *Session) request(t *task, mode messages.Mode) messages.RunCommand {
	choice := shelltext.SelectLogin(s.o.Env, shelltext.Executable(s.o.FS))
	r := messages.RunCommand{
		UID: messages.UID(t.id), Scope: s.o.Scope, Labels: messages.Labels{Tag: tag(s.o.Owner, t.origin), Description: t.origin}, Dir: t.cwd,
		Program: messages.Program{Argv: slices.Concat(s.o.Settings.Sandbox, []string{choice.Path, "-lc", t.command})},
		Env:     messages.Env{Policy: messages.EnvCaller, Base: s.o.Env}, Stdio: messages.Stdio{Streams: messages.SeparateStreams, Stdin: messages.StdinNull}, Mode: mode,
		Timeout: time.Duration(t.timeout) * time.Second, Grace: grace, Store: messages.Store{Quota: messages.Quota{Bytes: captureLimit + beyond, Policy: "kill"}},
	}
	if t.origin != originBang {
		r.Env.Base = shelltext.AgentEnvironment(s.o.Env, choice.Path, s.o.Settings.PassEnv)
	}
	if t.pipe {
		r.Stdin = messages.StdinPipe
	}
	return r
}
