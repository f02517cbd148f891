package actors

import (
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// shutdown is the state of an ordered shutdown. The scopes close or release their jobs, the
// remaining facts are recorded, the subscribers get them, and the clients get their reply.
// Recorder and channels stop last, with the supervisor.
type shutdown struct {
	ask       messages.ShutdownNode
	clients   []*actor.PID
	survivors []messages.Survivor
	forced    bool                    // the scopes were closed again, without grace
	settling  map[messages.JobID]bool // jobs that are over, whose ends the engine still keeps
	releasing bool                    // the jobs are released to the engine
	flushing  int                     // channels and archives that have not answered
}

// shutdownTimeout says that a phase of the shutdown has lasted too long.
type shutdownTimeout struct {
	noDeadLetter
	phase phase
}

// Time limits for the close of the scopes: beyond the grace of jobs and shells, then without
// grace. The engine needs 2.5 s for one job after its grace, and 5 s for 1,000.
const (
	shutdownPatience = 20 * time.Second
	forcedPatience   = 10 * time.Second
)

// settlePatience bounds the wait for the records of ends. An end that is not recorded by then is
// received by the next node.
const settlePatience = 2 * time.Second

// shutDown starts the shutdown, or joins one.
func (s *supervisor) shutDown(ctx actor.Context, r messages.ShutdownNode) {
	joins := s.shutdown != nil
	if !joins {
		s.shutdown = &shutdown{ask: r}
	}
	if ctx.Sender() != nil {
		s.shutdown.clients = append(s.shutdown.clients, ctx.Sender())
	}
	if !joins {
		s.disarmStopRetry()
		if r.KeepJobs {
			s.settleEnds(ctx)
		} else {
			s.phase = closingScopes
			s.timers = append(s.timers, sendLater(ctx, s.longest(r.Grace)+shutdownPatience, shutdownTimeout{phase: closingScopes}))
			s.closeTops(ctx, r.Grace)
		}
	}
	if joins && s.phase == closingScopes && !s.shutdown.ask.KeepJobs && !r.KeepJobs && lifecycle.Grace(r.Grace) < lifecycle.Grace(s.shutdown.ask.Grace) {
		s.shutdown.ask.Grace = r.Grace
		s.closeTops(ctx, r.Grace)
	}
	s.shutdownStep(ctx)
}

// settleEnds waits until the engine forgets the jobs that are over: one that keeps an end runs on
// for it, without a job.
func (s *supervisor) settleEnds(ctx actor.Context) {
	s.phase, s.shutdown.settling = settlingEnds, map[messages.JobID]bool{}
	if s.unwritable() {
		return
	}
	for _, e := range s.jobs {
		over := e.job.State == messages.Retired || e.job.State == messages.Finished && !e.job.OutputOpen && e.job.End.Children == 0
		if over && !e.settled && !s.endUnsettled(e) {
			s.shutdown.settling[e.job.ID] = true
			s.askSettled(ctx, e)
		}
	}
	if len(s.shutdown.settling) > 0 {
		s.timers = append(s.timers, sendLater(ctx, settlePatience, shutdownTimeout{phase: settlingEnds}))
	}
}

// longest returns how long grace may delay the shutdown: the longest grace of a job, then that
// of the session's leftovers.
func (s *supervisor) longest(asked time.Duration) time.Duration {
	if asked != 0 {
		return 2 * min(max(asked, 0), messages.MaxDuration) // a library may pass any duration
	}
	most := time.Duration(0)
	for _, e := range s.jobs {
		if !e.job.State.Ended() {
			most = max(most, lifecycle.Grace(e.terms.grace))
		}
	}
	return most + messages.DefaultGrace
}

// closeTops closes all top scopes, or shortens the grace of a close.
func (s *supervisor) closeTops(ctx actor.Context, grace time.Duration) {
	ask := s.shutdown.ask
	for path := range s.tops() {
		s.close(ctx, messages.Address{Scope: path}, messages.CloseScope{Path: path, Grace: grace, By: messages.ByShutdown, Reason: ask.Reason}, nil)
	}
}

// tops returns the top scopes, and those to which a job is being handed over.
func (s *supervisor) tops() map[messages.ScopePath]bool {
	tops := map[messages.ScopePath]bool{}
	for name := range s.scopes {
		tops[messages.ScopePath(name)] = true
	}
	for _, m := range s.handovers {
		tops[messages.ScopePath(m.to.Names()[0])] = true
	}
	return tops
}

// releaseAllJobs stops the scopes and leaves the jobs to the engine. It answers all clients that
// wait for the tree, since no actor below will.
func (s *supervisor) releaseAllJobs(ctx actor.Context) {
	s.phase, s.shutdown.releasing = closingScopes, true
	for _, pid := range s.scopes {
		ctx.Stop(pid)
	}
	for _, e := range s.jobs {
		s.queueReplies(e, messages.CommandRejected{Err: s.replyLeftRunning(e.job.ID)})
		s.recordLeftRunning(ctx, e)
	}
	var waiting []*actor.PID
	for _, o := range s.closings {
		waiting = append(waiting, o.clients...)
	}
	for _, m := range s.handovers {
		waiting = append(waiting, m.clients...)
		for _, q := range m.early {
			if r, ok := q.request.(messages.Refusable); ok && q.sender != nil {
				ctx.Send(q.sender, r.Refuse(shuttingDown()))
			}
		}
	}
	for _, client := range waiting {
		ctx.Send(client, messages.RequestRejected{Err: *shuttingDown()})
	}
	clear(s.closings)
	clear(s.handovers)
}

// recordLeftRunning records a foreground job as promoted, so that the next node does not stop
// it: an ordered shutdown cancels no job. If its client has not returned yet, the next node
// waits for it again. A job that was about to start waits in the next node.
func (s *supervisor) recordLeftRunning(ctx actor.Context, e *jobEntry) {
	if s.startPending(e) {
		s.queuedAgain(ctx, e)
	}
	if s.shutdown.ask.KeepJobs && s.deps.lasts() && e.clientWaiting && !e.job.State.Ended() && !e.job.Background && !e.awaitingClient && (!e.waits() || s.waitsOn(e)) {
		e.edit(func(job *messages.Record) { job.Background = true })
		s.record(ctx, e, messages.CommandPromoted{})
	}
}

// waits reports whether a job is queued without a slot.
func (e *jobEntry) waits() bool { return e.job.State == messages.Queued && !e.slotGranted }

// waitsOn reports whether a queued job waits in the next node, too: the journal has its request,
// or takes it with the record of its promotion.
func (s *supervisor) waitsOn(e *jobEntry) bool {
	return s.endsPersist() && !s.unwritable() && (e.seq > 0 || e.clientWaiting)
}

// replyLeftRunning returns what the clients of an unfinished job get at the shutdown.
func (s *supervisor) replyLeftRunning(id messages.JobID) messages.Error {
	waits := s.jobs[id].waits()
	if s.shutdown.ask.KeepJobs && waits && !s.waitsOn(s.jobs[id]) {
		return messages.Error{
			Code: messages.ShuttingDown, Message: "the node is shutting down; job " + string(id) + " had not started and will not start", Hint: "ask the next one to run it",
		}
	}
	if s.shutdown.ask.KeepJobs {
		return messages.Error{
			Code: messages.ShuttingDown, Message: "the node is shutting down; job " + string(id) + " goes on", Hint: "ask the next one",
		}
	}
	return messages.Error{
		Code: messages.ShuttingDown, Message: "job " + string(id) + " had not ended when the node did; its processes are being killed",
		Hint: "the error of Shutdown names the survivors",
	}
}

// jobsReleased reports whether the jobs are released to the engine. Nothing is sent down the
// tree any more.
func (s *supervisor) jobsReleased() bool { return s.shutdown != nil && s.shutdown.releasing }

// shutdownStep takes the shutdown as far as it can go now.
func (s *supervisor) shutdownStep(ctx actor.Context) {
	if s.shutdown == nil {
		return
	}
	if s.phase == settlingEnds && len(s.shutdown.settling) == 0 {
		s.timers = append(s.timers, sendLater(ctx, shutdownPatience, shutdownTimeout{phase: closingScopes}))
		s.releaseAllJobs(ctx)
	}
	if s.phase == closingScopes && len(s.scopes) == 0 {
		s.phase = endingWaits
		s.abortWaiters(ctx)
	}
	if s.phase == endingWaits && len(s.waiters) == 0 {
		s.phase = recordingRest
		if len(s.unwritten) == 0 || s.unwritable() {
			s.flushChannels(ctx)
			return
		}
		s.timers = append(s.timers, sendLater(ctx, recordPatience, shutdownTimeout{phase: recordingRest}))
	}
	if s.phase == flushingRest && s.shutdown.flushing <= 0 {
		s.phase = down
	}
	if s.phase != down {
		return
	}
	s.stopTimers()
	for _, client := range s.shutdown.clients {
		ctx.Send(client, messages.ShutdownDone{Survivors: s.shutdown.survivors})
	}
	s.shutdown.clients = nil
}

// onShutdownTimeout ends a phase that is not done. Jobs that have not ended are killed and
// reported. Those that remain are left to the engine.
func (s *supervisor) onShutdownTimeout(ctx actor.Context, m shutdownTimeout) {
	if s.phase != m.phase || s.shutdown == nil {
		return
	}
	switch s.phase {
	case settlingEnds:
		clear(s.shutdown.settling)
	case closingScopes:
		if !s.shutdown.forced && !s.shutdown.releasing {
			s.shutdown.forced = true
			s.timers = append(s.timers, sendLater(ctx, forcedPatience, shutdownTimeout{phase: closingScopes}))
			s.closeTops(ctx, -1)
			return
		}
		s.releaseAllJobs(ctx)
		clear(s.scopes)
	case recordingRest:
		s.flushChannels(ctx)
	case flushingRest:
		s.shutdown.flushing = 0
	}
	s.shutdownStep(ctx)
}

func (s *supervisor) stopTimers() {
	if s.shells.idleTimer != nil {
		s.shells.idleTimer()
	}
	for _, cancel := range s.timers {
		cancel()
	}
	s.timers = nil
	for _, cancel := range []scheduler.CancelFunc{s.confirmTimer, s.removeTimer, s.trimTimer, s.ackTimer, s.stopRetryTimer, s.retrying} {
		if cancel != nil {
			cancel()
		}
	}
}
