package actors

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// A live shell keeps its directory between commands and may die between two of them. It
// supports fewer options than a one-shot job.

// usualShell is the shell of requests that name none.
const usualShell = "bash"

// shellDir is the directory of a live shell. A command sends it after its end.
type shellDir struct {
	noDeadLetter
	dir string
}

// notMovable says that a job cannot be handed over: it runs in a live shell.
type notMovable struct {
	noDeadLetter
	job messages.JobID
	err messages.Error
}

// openFailed says that a session could not be opened.
type openFailed struct {
	noDeadLetter
	at messages.Address
}

// checkFits returns an error if this session cannot run a new job.
func (s *session) checkFits(run *messages.RunCommand) *messages.Error {
	if run.Open != nil {
		if err := s.planMismatch(*run.Open); err != nil {
			return err
		}
	}
	if !s.capabilities.Keeps {
		return nil
	}
	switch {
	case run.Shell != "" && !sameShell(run.Shell, s.open.Shell):
		return s.planMismatch(messages.SessionPlan{Shell: run.Shell})
	case run.Terminal != (messages.Terminal{}) && !s.capabilities.Terminal:
		return &messages.Error{
			Code: messages.Unsupported, Reason: "terminal", Message: fmt.Sprintf("the shell of session %s has no terminal", s.open.Session),
			Hint: "run the command without one, or open a session of the kind shell-pty",
		}
	}
	return run.CheckLive(s.open.Session)
}

// startDir returns the directory of a new job, as far as it is known before the start.
func (s *session) startDir(p placement) string {
	asked := ""
	if p.run != nil {
		asked = p.run.Dir
	}
	return cmp.Or(p.job.Dir, asked, s.open.Dir, s.deps.Dir)
}

// startInDir sets the directory of a job to the current one of its live shell.
func (s *session) startInDir(t *ticket) string {
	if !s.capabilities.Keeps || t.place.options.named {
		return ""
	}
	job := *t.place.job // the supervisor may share the record
	job.Dir = cmp.Or(s.open.Dir, s.deps.Dir)
	t.place.job = &job
	return job.Dir
}

// dirChanged stores and reports the shell's directory. A new shell starts there.
func (s *session) dirChanged(ctx actor.Context, dir string) {
	if dir == "" || dir == s.open.Dir || !s.capabilities.Keeps {
		return
	}
	s.open.Dir = dir
	ctx.Send(ctx.Parent(), s.opens())
}

// replaced takes that a dead shell was replaced. A flag in the record of the job that starts
// next tells its client.
func (s *session) replaced(ctx actor.Context, m messages.SessionReplaced) {
	m.Scope, m.Session = s.open.Scope, s.open.Session
	s.flagNext(messages.FlagReplaced)
	s.dirChanged(ctx, m.Dir)
	ctx.Send(ctx.Parent(), m)
}

// flagNext adds a flag to the job that starts next.
func (s *session) flagNext(f messages.Flag) {
	for _, t := range s.jobs {
		if t.slotGranted && !t.handingOver && !t.place.job.State.Ended() {
			t.flags = append(t.flags, f)
		}
	}
}

// snapshotTried takes whether a new shell has loaded its snapshot. A flag in the record of
// the job that starts next reports a failure, for later shells only a different one.
func (s *session) snapshotTried(ctx actor.Context, m messages.SnapshotTried) {
	was := s.snapshot
	s.snapshot = snapshotTaken{use: messages.SnapshotUsed}
	if m.Err != (messages.Error{}) {
		s.snapshot = snapshotTaken{use: messages.SnapshotFailed, why: m.Err.Message}
	}
	if s.snapshot == was {
		return
	}
	if s.snapshot.why != "" {
		s.flagNext(messages.FlagNoSnapshot)
	}
	ctx.Send(ctx.Parent(), s.opens())
}

// snapshotTaken is the use of the snapshot by the newest shell.
type snapshotTaken struct {
	use messages.SnapshotUse
	why string
}

// flagged returns the record of a job with the flags of the session.
func (t *ticket) flagged(job *messages.Record) *messages.Record {
	if len(t.flags) == 0 {
		return job
	}
	more := *job
	for _, f := range t.flags {
		if !slices.Contains(more.Flags, f) {
			more.Flags = append(slices.Clip(more.Flags), f)
		}
	}
	return &more
}

// staysHere refuses a hand-over. The other scope would own the shell while the job runs, and
// queued jobs would run outside their shell.
func (s *session) staysHere(ctx actor.Context, t *ticket) {
	ctx.Send(ctx.Parent(), notMovable{job: t.place.job.ID, err: messages.Error{
		Code: messages.Unsupported, Reason: "session",
		Message: fmt.Sprintf("job %s runs in the live shell of session %s and cannot leave it", t.place.job.ID, s.open.Session),
		Hint:    "hand over jobs that run outside a live shell",
	}})
}

// describe returns the session without its jobs, which the supervisor knows.
func (s *session) describe() messages.SessionInfo {
	info := messages.SessionInfo{
		Scope: s.open.Scope, Session: s.open.Session, Backend: s.open.Backend,
		Parallel: s.machine.Parallel, Dir: s.open.Dir,
	}
	if s.capabilities.Keeps {
		info.Snapshot, info.SnapshotError = s.snapshot.use, s.snapshot.why
		info.Shell, info.Dir = cmp.Or(s.open.Shell, usualShell), cmp.Or(s.open.Dir, s.deps.Dir)
	}
	return info
}

// memoPlace returns the plan of the session without its environment, for the metadata of its jobs.
func (s *session) memoPlace() messages.SessionPlan {
	return messages.SessionPlan{Backend: s.open.Backend, Dir: s.open.Dir, Shell: s.open.Shell, Terminal: s.open.Terminal, Umask: s.open.Umask, Limits: s.open.Limits}
}

// isLive reports whether a backend runs live shells.
func (d *Deps) isLive(backend string) bool {
	b, ok := d.Backends[backend]
	return ok && b.Can().Keeps
}
