package actors

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// A live shell keeps its directory from one command to the next, may die between
// two of them, and can do less for a command than a process of its own.

// usualShell runs what names no shell.
const usualShell = "bash"

// shellDir says where the live shell of a session is: a command says it behind its end.
type shellDir struct {
	noDeadLetter
	dir string
}

// notMovable says that a job cannot be handed over: it is one of a live shell's.
type notMovable struct {
	noDeadLetter
	job messages.JobID
	err messages.Error
}

// openFailed says that a session that was asked for is none: nothing of it is there.
type openFailed struct {
	noDeadLetter
	at messages.Address
}

// checkFits says why a new job cannot run here, whatever it is: nothing of it exists yet.
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

// startDir a new job runs, as far as that is known before it begins.
func (s *session) startDir(p placement) string {
	asked := ""
	if p.run != nil {
		asked = p.run.Dir
	}
	return cmp.Or(p.job.Dir, asked, s.open.Dir, s.deps.Dir)
}

// startInDir gives a job of a live shell the directory in which the shell is now.
func (s *session) startInDir(t *ticket) string {
	if !s.capabilities.Keeps || t.place.options.named {
		return ""
	}
	job := *t.place.job // the node may have this one
	job.Dir = cmp.Or(s.open.Dir, s.deps.Dir)
	t.place.job = &job
	return job.Dir
}

// dirChanged takes where the shell is now, and tells the node: the next shell begins there.
func (s *session) dirChanged(ctx actor.Context, dir string) {
	if dir == "" || dir == s.open.Dir || !s.capabilities.Keeps {
		return
	}
	s.open.Dir = dir
	ctx.Send(ctx.Parent(), s.opens())
}

// replaced hears that the shell had died and was made anew, for the job that is about
// to begin: who waits for that is told by its record.
func (s *session) replaced(ctx actor.Context, m messages.SessionReplaced) {
	m.Scope, m.Session = s.open.Scope, s.open.Session
	s.flagNext(messages.FlagReplaced)
	s.dirChanged(ctx, m.Dir)
	ctx.Send(ctx.Parent(), m)
}

// flagNext has a flag put on the job that is about to begin.
func (s *session) flagNext(f messages.Flag) {
	for _, t := range s.jobs {
		if t.slotGranted && !t.handingOver && !t.place.job.State.Ended() {
			t.flags = append(t.flags, f)
		}
	}
}

// snapshotTried hears what became of the snapshot that a shell begins with. That there is none is
// told by the record of the job that is about to begin; of the next shells only if it is
// for another reason.
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

// snapshotTaken is what became of the snapshot of the newest shell.
type snapshotTaken struct {
	use messages.SnapshotUse
	why string
}

// flagged is the record of a job with what the session has to say of it.
func (t *ticket) flagged(job *messages.Job) *messages.Job {
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

// staysHere refuses to give a job away: its shell would be somebody else's as long as
// it runs, and what waits for that shell would run elsewhere.
func (s *session) staysHere(ctx actor.Context, t *ticket) {
	ctx.Send(ctx.Parent(), notMovable{job: t.place.job.ID, err: messages.Error{
		Code: messages.Unsupported, Reason: "session",
		Message: fmt.Sprintf("job %s runs in the live shell of session %s and cannot leave it", t.place.job.ID, s.open.Session),
		Hint:    "hand over jobs that run outside a live shell",
	}})
}

// describe is what the session is; the node knows what runs in it.
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

// sessionMeta is the session as it was opened, for the engine to keep.
func (s *session) memoPlace() sessionMeta {
	return sessionMeta{Backend: s.open.Backend, Dir: s.open.Dir, Shell: s.open.Shell, Terminal: s.open.Terminal, Umask: s.open.Umask}
}

// isLive says whether a kind of session is a live shell.
func (d *Deps) isLive(backend string) bool {
	b, ok := d.Backends[backend]
	return ok && b.Can().Keeps
}
