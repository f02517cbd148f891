package actors

import (
	"cmp"
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/actors/lifecycle"
	"troupe/messages"
	"troupe/spill"
)

// send passes a request down to the top scope of its address. It spawns a missing scope
// if the request creates it. After releaseAllJobs it sends nothing: the scopes are
// stopping, the engine keeps their jobs, and the next node repeats what is not settled.
func (s *supervisor) send(ctx actor.Context, to messages.Address, request any, sender *actor.PID) {
	if s.jobsReleased() {
		refuseTo(ctx, sender, request, shuttingDown())
		return
	}
	name := to.Scope.Names()[0]
	pid, ok := s.scopes[name]
	if !ok {
		if !creates(request) {
			refuseTo(ctx, sender, request, missing(to, noSuchScope(to.Scope)))
			return
		}
		deps := s.deps
		pid = ctx.SpawnPrefix(deps.inline(func() actor.Actor { return newScope(deps, messages.ScopePath(name)) }), kindScope+name)
		s.scopes[name] = pid
	}
	ctx.RequestWithCustomSender(pid, routed{to: to, request: request}, sender)
}

// address passes a request to its job, or answers it.
func (s *supervisor) address(ctx actor.Context, r messages.Addressed) {
	to := r.Address()
	stop, isStop := r.(messages.StopCommand)
	if isStop && to.Job == "" {
		s.stopMany(ctx, stop)
		return
	}
	e, err := s.find(to.Job)
	if err != nil {
		refuse(ctx, r, err)
		return
	}
	if e.archived {
		s.answerFor(ctx, e, r)
		return
	}
	if e.sessionAbandoned {
		refuse(ctx, r, unsupervised(e.job.ID))
		return
	}
	if p, is := r.(messages.PromoteCommand); is && !e.job.HasFlag(messages.FlagUnsupervised) { // an unsupervised job can only be stopped
		e.keepRequested = e.keepRequested || p.Keep
		if e.leftRunning { // its record is that of a background job already
			e.leftRunning = false
			s.queueReplies(e, messages.CommandPromoted{Job: e.record()})
		}
	}
	if m, moving := s.handovers[e.job.ID]; moving {
		m.wait(ctx, e.job.ID, r)
		return
	}
	s.send(ctx, s.jobAddress(e), r, ctx.Sender())
}

// stopMany stops all current jobs of a session, or of a scope with its sub-scopes.
func (s *supervisor) stopMany(ctx actor.Context, r messages.StopCommand) {
	if r.Session != "" {
		r.Scope = cmp.Or(r.Scope, messages.MainScope)
	}
	if r.Scope == "" {
		refuse(ctx, r, messages.Invalid("job", "name a job, a session or a scope to be stopped"))
		return
	}
	if s.gathersFull() {
		refuse(ctx, r, &messages.Error{
			Code: messages.ResourceExhausted, Reason: "stops",
			Message: fmt.Sprintf("limit of %d stops of several jobs reached", s.limit.Watches),
			Hint:    "stop the jobs one by one, wait until another stop is done, or set limits.watches higher",
		})
		return
	}
	var each []messages.StopCommand
	for _, e := range s.sorted() {
		inside := r.Scope.Contains(e.job.Scope)
		if r.Session != "" {
			inside = r.Scope == e.job.Scope && r.Session == e.job.Session
		}
		if inside && !e.job.State.Ended() {
			one := r
			one.Job, one.Scope, one.Session = e.job.ID, "", ""
			each = append(each, one)
		}
	}
	pid := ctx.SpawnPrefix(groupStopProps(s.deps, each, ctx.Sender()), kindGather)
	s.waiters[pid.Id] = &waiterEntry{pid: pid, client: ctx.Sender(), request: r}
}

// answerFor answers a request about a job without an actor.
func (s *supervisor) answerFor(ctx actor.Context, e *jobEntry, r messages.Addressed) {
	if ctx.Sender() == nil {
		return
	}
	switch r.(type) {
	case messages.StopCommand:
		ctx.Respond(messages.CommandStopped{Jobs: []messages.JobID{e.job.ID}, Survivors: e.job.End.Survivors, Already: true})
	case messages.ReadOutput, messages.FollowOutput, messages.ReadScreen:
		if s.phase >= flushingRest {
			refuse(ctx, r, shuttingDown())
			return
		}
		s.readArchive(ctx, e)
	default:
		refuse(ctx, r, lifecycle.JobFinished(e.job.ID))
	}
}

// readArchive passes a read to the archive of a job that is over. It spawns a missing one.
func (s *supervisor) readArchive(ctx actor.Context, e *jobEntry) {
	pid, ok := s.archives[e.job.ID]
	if !ok {
		pid = ctx.SpawnPrefix(archiveProps(s.deps, e.job.ID), kindSink+"archive")
		s.archives[e.job.ID] = pid
	}
	ctx.RequestWithCustomSender(pid, ctx.Message(), ctx.Sender())
}

func (s *supervisor) archivedOutputs(e *jobEntry) outputs {
	logs, job := s.deps.Logs, *e.job
	if job.End.Outcome == messages.FailedToStart {
		return outputs{closed: true, terminal: newTerminal(job, 0).of(job.UID, unwritten)} // as its command answered
	}
	open := func(stream messages.Stream) (spill.Log, error) { return OpenArchived(logs, job, stream) }
	return outputs{
		of: streams(job), closed: true,
		open: open, terminal: newTerminal(job, 0).of(job.UID, open),
	}
}

// serveArchive gives an archive its logs. It ignores requests for growth.
func (s *supervisor) serveArchive(ctx actor.Context, msg any) {
	if _, ok := msg.(outputsWanted); !ok {
		return
	}
	for id, pid := range s.archives {
		if pid.Equal(ctx.Sender()) {
			ctx.Send(pid, s.archivedOutputs(s.jobs[id]))
		}
	}
}
