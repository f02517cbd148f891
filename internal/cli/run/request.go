package run

import (
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"syscall"

	"troupe/internal/cli"
	"troupe/internal/cli/out"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// newRequest makes the request from the flags and arguments, and checks it before
// anything starts. argv: even a single argument is a program, not shell text.
func newRequest(m *cli.Main, f *Flags, args []string, argv bool) (messages.RunCommand, error) {
	r := messages.RunCommand{
		Key: f.Key, Scope: messages.ScopePath(f.Scope), Labels: messages.Labels{Name: f.Name, Description: f.Description}, Replace: f.Replace, Program: messages.Program{Shell: f.Shell},
		Env: messages.Env{Policy: messages.EnvCaller, Base: m.Env}, Stdio: messages.Stdio{Stdin: stdinMode(m, f), Streams: streamMode(m, f)},
		Timeout: f.Timeout.D, Grace: f.Grace.D, OnExit: messages.OnExit(f.OnExit.Value), OnFinish: f.OnFinish, Store: messages.Store{Quota: f.MaxOutput.Quota},
		ProcAttr: messages.ProcAttr{StopSignal: f.StopSignal, IdleTimeout: f.IdleTimeout.D},
	}
	if err := f.check(); err != nil {
		return r, err
	}
	if f.PTY {
		r.Terminal, r.Stdin, r.Streams = cli.TerminalSize(m), messages.StdinNull, messages.MergedStreams
		if forwardsKeys(m, f) {
			r.Stdin = "" // the keys typed there
		}
		r.Shown = !f.JSON && !f.NoStdin && cli.IsTerminal(m.Out) && cli.IsTerminal(m.In)
	}
	if f.Grace.Given && r.Grace == 0 {
		r.Grace = -1 // in a request, 0 means the default
	}
	if policy := messages.EnvPolicy(f.EnvPolicy.Value); policy != "" && policy != messages.EnvCaller {
		r.Env.Policy, r.Env.Base = policy, nil
	}
	r.Session = messages.SessionID(f.Session)
	switch {
	case f.Detach:
		r.Mode = messages.ModeDetached
	case f.Background:
		r.Mode = messages.ModeAsync
	}
	if outer, ok := m.Getenv(shelltext.ScopeVar); ok && f.Scope == "" && messages.ScopePath(outer).Check() == nil {
		r.Scope = messages.ScopePath(outer)
	}
	for _, fill := range []func(*messages.RunCommand) error{
		func(r *messages.RunCommand) error { return setCommand(m, r, f, args, argv) },
		func(r *messages.RunCommand) error { return workDir(r, f.Cwd) },
		func(r *messages.RunCommand) error { return addVariables(m, r, f) },
		func(r *messages.RunCommand) error { return logFile(r, f) },
		func(r *messages.RunCommand) error { return startWaits(m, r, f) },
	} {
		if err := fill(&r); err != nil {
			return r, err
		}
	}
	err := r.Check()
	if err == nil {
		return r, nil
	}
	if err.Reason == "on_finish" && err.Code == messages.TooLarge { // too many flags are a usage error
		err.Code = messages.InvalidParams
	}
	return r, err
}

// setCommand sets the shell text or argv from the arguments or a file.
func setCommand(m *cli.Main, r *messages.RunCommand, f *Flags, args []string, argv bool) error {
	var err error
	switch {
	case f.File != "" && len(args) > 0:
		return messages.Invalid("command", fmt.Sprintf("-f and the argument %q contradict each other; give one of them", args[0]))
	case f.File != "":
		r.Text, err = commandText(m, f.File)
	case len(args) == 0:
		e := messages.Invalid("empty_command", "no command given")
		e.Hint = "use troupe run 'SHELL TEXT', troupe run PROG ARG..., or troupe run -f FILE"
		return e
	case len(args) == 1 && !argv:
		r.Text = args[0]
	default:
		r.Argv = args
	}
	return err
}

// commandText reads a shell text, at most one byte more than is allowed.
func commandText(m *cli.Main, file string) (string, error) {
	from := m.In
	if file != "-" {
		var err error
		if from, err = os.Open(file); err != nil {
			return "", out.Unreadable("file", "the shell text", err)
		}
		defer from.Close()
	}
	b, err := io.ReadAll(io.LimitReader(from, messages.MaxText+1))
	if err != nil {
		return "", out.Unreadable("file", "the shell text", err)
	}
	return string(b), nil
}

// workDir makes -C absolute; the start of the command checks that it exists.
func workDir(r *messages.RunCommand, cwd string) error {
	if cwd == "" {
		return nil
	}
	dir, err := filepath.Abs(cwd)
	if err != nil {
		code := messages.CwdNotFound
		if !errors.Is(err, syscall.ENOENT) {
			code = messages.InvalidParams
		}
		return &messages.Error{Code: code, Reason: "cwd", Message: fmt.Sprintf("%q is relative, and the current directory cannot be found", cwd), Hint: "give an absolute path"}
	}
	r.Dir = dir
	return nil
}
