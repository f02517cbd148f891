package actors

import (
	"cmp"

	"troupe/actors/lifecycle"
	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// spec returns the command of a job for the executor.
func (s *session) spec(t *ticket) backends.Command {
	run, job := t.place.run, t.place.job
	dir, env, shell := job.Dir, t.place.env, cmp.Or(run.Shell, s.open.Shell)
	if s.capabilities.Keeps { // only the changes: the shell has a directory and an environment
		dir, env, shell = run.Dir, run.Env.Set, s.open.Shell
	}
	return backends.Command{
		ID: job.UID, Job: job.ID, Text: run.Text, Argv: run.Argv,
		Shell: shell, Dir: dir, Env: env, Umask: run.Mask(),
		Stdio:  backends.Stdio{Stdin: run.Stdin, Streams: run.Streams, Terminal: job.Terminal, Ended: inputEnded(run, job.Terminal)},
		Grace:  lifecycle.Grace(run.Grace),
		OnExit: run.OnExit, Detach: run.Mode == messages.ModeDetached,
		Log: plan(run, job.Session), Attr: run.ProcAttr,
	}
}

// inputEnded reports whether the terminal of a job gets no input: its client has none and
// waits for the end.
func inputEnded(run *messages.RunCommand, t messages.Terminal) bool {
	return t != (messages.Terminal{}) && run.Stdin == messages.StdinNull && !run.Mode.Background() && !run.Shown
}

// terminal returns the size of a job's terminal: the requested one, or that of the session if
// all its jobs have one.
func (s *session) terminal(asked messages.Terminal) messages.Terminal {
	if asked != (messages.Terminal{}) || !s.capabilities.Terminal || s.capabilities.Separate {
		return asked
	}
	return cmp.Or(s.open.Terminal, messages.Terminal{Rows: messages.DefaultRows, Cols: messages.DefaultCols})
}

// memos returns the encoder of a job's metadata; nil: its jobs cannot outlive the tree.
func (s *session) memos(t *ticket) *metaEncoder {
	if !s.capabilities.Outlive {
		return nil
	}
	return &metaEncoder{at: s.memoPlace(), keep: t.place.recovery, terms: t.place.options}
}

// limits returns the limits of a job. Its timeout may have changed since the request.
func limits(p placement) lifecycle.Limits {
	return lifecycle.Limits{
		Background: p.options.background, PromoteAfter: p.options.promoteAfter,
		Timeout: p.job.Timeout, Grace: p.options.grace,
	}
}

func plan(run *messages.RunCommand, session messages.SessionID) spill.Plan {
	p := spill.Plan{
		Group: string(session), Quota: run.Quota.Bytes,
		Policy: spill.Policy(run.Quota.Policy), Durability: spill.Durability(run.Durability),
	}
	if run.Persist {
		p.Inline = -1
	}
	if run.Mode == messages.ModeDetached {
		p.File = run.LogFile
	}
	return p
}
