package opencode

import (
	"context"
	"fmt"

	"github.com/oklog/ulid/v2"

	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// Bash runs a command and returns its output. Invalid parameters and failed commands are
// results. The error is that of ctx, whose end stops the command.
func (s *Session) Bash(ctx context.Context, p BashParams) (dialect.Result, error) {
	if bad := p.check(s.s); bad != nil {
		return dialect.Failure(bad.Message), nil
	}
	r, err := s.request(p)
	if err != nil {
		return dialect.Failure(err.Error()), nil
	}
	if p.RunInBackground {
		return s.launch(ctx, r)
	}
	if running := s.running(); len(running) > 0 && waitsOnly(p.Command) {
		return dialect.Failure(fmt.Sprintf(textPureWait, names(running))), nil
	}
	began := s.options.Now()
	job, note, err := s.run(ctx, r)
	switch {
	case ctx.Err() != nil:
		return dialect.Result{}, ctx.Err()
	case err != nil:
		return dialect.Failure(fmt.Sprintf(textNotStarted, err)), nil
	}
	m := times(job, began, s.options.Now())
	m.Description = p.Description
	out, errs := s.show(ctx, job, messages.Stdout), s.show(ctx, job, messages.Stderr)
	if ctx.Err() != nil {
		return dialect.Result{}, ctx.Err()
	}
	result := s.s.result(job, out, errs, m)
	result.Text = lines(result.Text, note)
	return result, nil
}

// request returns the host request for a call.
func (s *Session) request(p BashParams) (messages.RunCommand, error) {
	dir, err := shelltext.Cwd(s.options.FS, shelltext.Place{Session: s.options.Dir}, p.Workdir)
	if err != nil {
		return messages.RunCommand{}, err
	}
	choice, bad := shelltext.Select(shelltext.Setting{Path: s.s.ShellPath, Where: "the setting ShellPath"}, s.options.Env, shelltext.Executable(s.options.FS))
	if bad != nil {
		return messages.RunCommand{}, bad
	}
	r := messages.RunCommand{
		UID: messages.UID(ulid.Make().String()), Scope: s.options.Scope, Labels: messages.Labels{Description: p.Description}, Program: messages.Program{Text: p.Command, Shell: choice.Path}, Dir: dir,
		Env:   messages.Env{Policy: messages.EnvCaller, Base: shelltext.AgentEnvironment(s.options.Env, choice.Path, s.s.PassEnv)},
		Stdio: messages.Stdio{Streams: messages.SeparateStreams, Stdin: messages.StdinNull}, Timeout: milliseconds(timeoutOf(p.Timeout)), Grace: grace,
		Store: messages.Store{Quota: messages.Quota{Bytes: s.s.MaxPersistBytes, Policy: "keep_head"}},
	}
	if p.RunInBackground {
		r.Mode, r.Timeout, r.Streams = messages.ModeAsync, 0, messages.MergedStreams // one file has both
		if p.Timeout > 0 {
			r.Timeout = milliseconds(p.Timeout)
		}
	}
	return r, nil
}
