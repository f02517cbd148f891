package actors

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/lifecycle"
	"troupe/backends"
	"troupe/messages"
)

// A job whose command actor crashes too often gets no other. The session keeps its record
// by the same machine, flags it unsupervised, and can only stop it. The engine's copy of
// the deadline still holds (docs/design/actors.md).

// The restart limit of one job's command actor.
const (
	crashLimit  = 3
	crashWindow = 10 * time.Second
)

// crashes are the times of one job's recent crashes.
type crashes []time.Time

// add counts a crash and reports whether there were more than the limit within
// the window.
func (c *crashes) add(now time.Time) bool { return c.count(now) > crashLimit }

// count counts a crash, and those within the window before it.
func (c *crashes) count(now time.Time) int {
	*c = slices.DeleteFunc(append(*c, now), func(t time.Time) bool { return now.Sub(t) >= crashWindow })
	return len(*c)
}

// unsupervisedJob is a job without an actor.
type unsupervisedJob struct {
	machine lifecycle.Command
	proc    backends.Process // nil: the engine does not know it
	clients replyTargets
}

// abandon refuses waiting requests and releases the process, which stays with the engine.
func (l *unsupervisedJob) abandon(ctx actor.Context, why *messages.Error) {
	if l.proc != nil {
		l.proc.Release()
	}
	for _, effect := range l.machine.Abandon(why) {
		if reply, is := effect.(lifecycle.Reply); is {
			l.clients.answer(ctx, reply)
		}
	}
}

// unsupervisedFact is a fact of the engine about a job without an actor.
type unsupervisedFact struct {
	noDeadLetter
	job  messages.JobID
	fact messages.ProcessFact
}

// runUnsupervised takes over a job whose actors crashed too often.
func (s *session) runUnsupervised(ctx actor.Context, t *ticket) {
	job := *t.place.job
	marks := !job.State.Ended() && !job.HasFlag(messages.FlagUnsupervised)
	if marks {
		job.Flags = append(slices.Clip(job.Flags), messages.FlagUnsupervised)
	}
	t.pid = nil
	t.unsupervised = &unsupervisedJob{machine: lifecycle.Rebuild(&job, limits(t.place))}
	root, self, id := ctx.ActorSystem().Root, ctx.Self(), job.ID
	facts := func(f messages.ProcessFact) { root.Send(self, unsupervisedFact{job: id, fact: f}) }
	t.place.job = &job
	if marks { // an ended job reports only its last fact
		s.applyUpdate(ctx, jobUpdate{fact: messages.CommandChanged{}, job: &job})
	}
	if !t.slotGranted && job.State == messages.Queued {
		s.stepUnsupervised(ctx, t, lifecycle.Asked{Request: messages.StopCommand{
			Job: id, By: messages.BySystem, Reason: "its supervision failed before it could start",
		}})
		return
	}
	s.noteAdopted(ctx, &job)
	proc, err := s.adoptUnsupervised(job.UID, facts)
	switch {
	case err == nil:
		t.unsupervised.proc = proc
	case err.Code == messages.NotFound && job.Started.IsZero() && !t.place.inherited && s.failed != nil: // it could not start without an executor
		s.stepUnsupervised(ctx, t, messages.ProcessFailed{Err: *s.failed, Shell: cannotRun, At: clock()})
	case err.Code == messages.NotFound:
		s.stepUnsupervised(ctx, t, lifecycle.Forgotten{Err: *err})
	}
}

// adoptUnsupervised adopts a job by the executor, or by the engine if there is no executor or
// it fails.
func (s *session) adoptUnsupervised(uid messages.UID, facts backends.FactHandler) (backends.Process, *messages.Error) {
	err := internalError()
	if s.executor != nil {
		var proc backends.Process
		if proc, err = adopt(s.executor.Adopt, uid, facts); err == nil || err.Code == messages.NotFound {
			return proc, err
		}
	}
	if s.deps.Engine != nil {
		return adopt(s.deps.Engine.Adopt, uid, facts)
	}
	return nil, err
}

func adopt(by func(messages.UID, backends.FactHandler) (backends.Process, error), uid messages.UID, facts backends.FactHandler) (proc backends.Process, err *messages.Error) {
	defer func() {
		if reason := recover(); reason != nil {
			proc, err = nil, internalError()
		}
	}()
	proc, failed := by(uid, facts)
	if failed != nil {
		return nil, asError(failed, messages.NotFound)
	}
	return proc, nil
}

// adoptWithoutExecutor adopts a job in a session without an executor.
func (s *session) adoptWithoutExecutor(ctx actor.Context, t *ticket) {
	id := t.place.job.ID
	if s.jobs[id] != nil {
		return
	}
	t.slotGranted, s.jobs[id] = true, t
	s.machine.Step(lifecycle.Taken{Job: id})
	s.runUnsupervised(ctx, t)
	if t := s.jobs[id]; t != nil && t.place.job.State.Ended() {
		s.machine.Step(lifecycle.Gone{Job: id})
	}
}

func (s *session) onUnsupervisedFact(ctx actor.Context, msg unsupervisedFact) {
	if t, ok := s.jobs[msg.job]; ok && t.unsupervised != nil {
		if f, ended := msg.fact.(messages.ProcessExited); ended {
			s.dirChanged(ctx, f.Dir)
		}
		s.stepUnsupervised(ctx, t, msg.fact)
	}
}

// askUnsupervised answers a request about a job that can only be stopped.
func (s *session) askUnsupervised(ctx actor.Context, t *ticket, request any) {
	switch r := request.(type) {
	case recorded:
		s.stepUnsupervised(ctx, t, lifecycle.Recorded{Retired: r.retired, Unwritten: r.unwritten})
	case messages.StopCommand:
		if t.unsupervised.proc == nil && !t.place.job.State.Ended() {
			refuse(ctx, request, &messages.Error{
				Code: messages.Internal, Reason: "unreachable", Message: "the job is unsupervised after too many crashes, and its engine cannot be reached",
				Hint: "shut the node down to end the job",
			})
			return
		}
		s.stepUnsupervised(ctx, t, lifecycle.Asked{By: t.unsupervised.clients.ticket(ctx), Request: r})
	default:
		refuse(ctx, request, &messages.Error{
			Code: messages.Refused, Reason: "unsupervised",
			Message: "the job is unsupervised after too many crashes: it runs on and can only be stopped",
		})
	}
}

func (s *session) stepUnsupervised(ctx actor.Context, t *ticket, event any) {
	var effects []lifecycle.Effect
	t.unsupervised.machine, effects = t.unsupervised.machine.Step(clock(), event)
	for _, effect := range effects {
		switch e := effect.(type) {
		case lifecycle.Tell:
			s.applyUpdate(ctx, jobUpdateOf(e))
		case lifecycle.Stop:
			if t.unsupervised.proc != nil {
				t.unsupervised.proc.Stop(e.Cause, e.Grace)
			}
		case lifecycle.Settle:
			if t.unsupervised.proc != nil {
				t.unsupervised.proc.Settle(e.Seq)
			}
		case lifecycle.Keep:
			if t.unsupervised.proc != nil {
				s.unsettled(ctx, unsettled{job: t.place.job.ID, proc: t.unsupervised.proc, seq: e.Seq})
			}
		case lifecycle.Reply:
			t.unsupervised.clients.answer(ctx, e)
		case lifecycle.Retire:
			s.retire(ctx, t)
		}
	}
}
