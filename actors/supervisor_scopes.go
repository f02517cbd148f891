package actors

import (
	"cmp"
	"maps"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// pendingClose is a close in progress, with the clients that wait for it.
type pendingClose struct {
	request          any
	clients          []*actor.PID
	awaitingHandover bool // waits for jobs that are being handed over there
}

// arrange opens and closes parts of the tree and hands jobs over. While the journal fails it
// only closes.
func (s *supervisor) arrange(ctx actor.Context, request any) {
	if s.phase > open {
		refuse(ctx, request, shuttingDown())
		return
	}
	switch request.(type) {
	case messages.CloseSession, messages.CloseScope, messages.ReleaseScope:
	default:
		if s.journalErr != nil {
			refuse(ctx, request, s.journalErr)
			return
		}
	}
	switch r := request.(type) {
	case messages.OpenSession:
		s.openSession(ctx, r)
	case messages.OpenScope:
		if err := cmp.Or(r.Check(), s.isClosing(messages.Address{Scope: r.Path})); err != nil {
			refuse(ctx, r, err)
			return
		}
		quota, open := s.scopeQuotas[r.Path]
		if !open || !r.Join {
			quota = r.Quota
		}
		s.scopeQuotas[r.Path] = quota
		s.send(ctx, messages.Address{Scope: r.Path}, openScope{quota: quota}, ctx.Sender())
	case messages.CloseSession:
		at := messages.Address{Scope: cmp.Or(r.Scope, messages.MainScope), Session: cmp.Or(r.Session, messages.DefaultSession)}
		if _, ok := s.sessions[at]; !ok {
			refuse(ctx, r, noSuchSession(at))
			return
		}
		s.close(ctx, at, r, ctx.Sender())
	case messages.CloseScope:
		s.tasks.end(r.Path, clock()) // also of a scope that was never open
		if _, ok := s.scopeQuotas[r.Path]; !ok {
			refuse(ctx, r, noSuchScope(r.Path))
			return
		}
		s.close(ctx, messages.Address{Scope: r.Path}, r, ctx.Sender())
	case messages.ReleaseScope:
		s.tasks.end(r.Path, clock())
		s.leaveScope(ctx, r)
	case messages.HandOver:
		s.handOver(ctx, r)
	}
}

func (s *supervisor) openSession(ctx actor.Context, r messages.OpenSession) {
	r.Scope, r.Session = cmp.Or(r.Scope, messages.MainScope), cmp.Or(r.Session, messages.DefaultSession)
	if err := cmp.Or(r.Check(), s.isClosing(r.Address())); err != nil {
		refuse(ctx, r, err)
		return
	}
	if s.needsShell(r.Address(), r.SessionPlan, false) {
		if err := s.checkShellLimit(); err != nil {
			refuse(ctx, r, err)
			return
		}
		s.opensShell(r.Address())
	}
	s.send(ctx, r.Address(), openSession{ask: r}, ctx.Sender())
}

// close sends a close down the tree. The client gets its reply when the tree reports the end.
func (s *supervisor) close(ctx actor.Context, at messages.Address, request any, client *actor.PID) {
	o, ok := s.closings[at]
	if !ok {
		o = &pendingClose{request: request, awaitingHandover: s.awaits(at)}
		s.closings[at] = o
	}
	if !o.awaitingHandover { // also if repeated: a shorter grace counts
		s.send(ctx, at, request, nil)
	}
	if client != nil {
		o.clients = append(o.clients, client)
	}
	s.confirmLate(ctx) // jobs that ended before
}

// sessionUp stores an open session. It records only the first opening, not those after a
// crash.
func (s *supervisor) sessionUp(ctx actor.Context, m sessionOpened) {
	at := messages.Address{Scope: m.fact.Info.Scope, Session: m.fact.Info.Session}
	was, again := s.sessions[at]
	if m.fact.Info.Snapshot == messages.SnapshotNone { // unknown to a new actor
		m.fact.Info.Snapshot, m.fact.Info.SnapshotError = was.Snapshot, was.SnapshotError
	}
	s.sessions[at], s.sessionSpecs[at] = m.fact.Info, m.ask
	s.shellUp(ctx, at, m.fact.Info)
	if !again {
		s.note(ctx, m.fact)
	}
}

// sessionFact takes a fact about a session or scope and answers closes.
func (s *supervisor) sessionFact(ctx actor.Context, fact messages.Fact) {
	switch f := fact.(type) {
	case messages.ScopeOpened:
		if s.scopesOpened[f.Path] {
			return
		}
		s.scopesOpened[f.Path] = true
		if _, asked := s.scopeQuotas[f.Path]; !asked {
			s.scopeQuotas[f.Path] = messages.ScopeQuota{}
		}
	case messages.SessionReplaced:
		s.shellReplaced(f)
	case messages.SessionClosed:
		at := messages.Address{Scope: f.Scope, Session: f.Session}
		if _, was := s.sessions[at]; !was {
			s.unopened(at)
			s.replyClosed(ctx, at, f)
			return // its opening was not reported
		}
		s.shellGone(f)
		delete(s.sessions, at)
		delete(s.sessionSpecs, at)
		delete(s.crashCounts, at)
		s.keepSessionJobs(ctx, at)
		s.replyClosed(ctx, at, f)
	case messages.ScopeClosed:
		delete(s.scopeQuotas, f.Path)
		delete(s.scopesOpened, f.Path)
		delete(s.crashCounts, messages.Address{Scope: f.Path})
		s.replyClosed(ctx, messages.Address{Scope: f.Path}, f)
	}
	s.note(ctx, fact)
}

// isClosing returns an error if an address is being closed. No new work is sent there, so that
// none is lost.
func (s *supervisor) isClosing(at messages.Address) *messages.Error {
	for closing := range s.closings {
		if closing.Session == "" && closing.Scope.Contains(at.Scope) {
			return scopeIsClosing(closing.Scope)
		}
		if closing.Session != "" && closing.Scope == at.Scope && closing.Session == at.Session {
			return &messages.Error{
				Code: messages.SessionClosedCode, Reason: "session", Message: "session " + string(at.Session) + " is being closed",
				Hint: "use another session, or wait until it is closed",
			}
		}
	}
	return nil
}

// keepSessionJobs retires the jobs of a closed session whose processes outlive it.
func (s *supervisor) keepSessionJobs(ctx actor.Context, at messages.Address) {
	for _, e := range s.sorted() {
		if !e.archived && e.job.State.Ended() && e.job.Scope == at.Scope && e.job.Session == at.Session {
			s.retire(ctx, e)
			s.settled(ctx, e.job.ID) // its processes live on, so no end will come
		}
	}
	s.leaveUnsettled(at)
}

func (s *supervisor) replyClosed(ctx actor.Context, at messages.Address, reply any) {
	if o, ok := s.closings[at]; ok {
		delete(s.closings, at)
		for _, client := range o.clients {
			ctx.Send(client, reply)
		}
	}
}

// scopeDown stops a closed top scope.
func (s *supervisor) scopeDown(ctx actor.Context, m scopeStopped) {
	name := string(m.fact.Path)
	if pid := s.scopes[name]; pid != nil && pid.Equal(m.who) {
		delete(s.scopes, name)
	}
	poisonChild(ctx, m.who)
	s.sessionFact(ctx, m.fact)
	if s.shutdown != nil {
		s.shutdown.survivors = append(s.shutdown.survivors, m.fact.Survivors...)
		s.shutdownStep(ctx)
	}
}

// scopeLost rebuilds a crashed top scope. After the release of the jobs it only counts as
// stopped.
func (s *supervisor) scopeLost(ctx actor.Context, path messages.ScopePath) {
	if s.jobsReleased() {
		s.shutdownStep(ctx)
		return
	}
	s.rebuild(ctx, subtreeLost{scope: path})
}

// rebuild opens a crashed session or scope again and places its jobs, which the engine still
// has. It repeats closes last.
func (s *supervisor) rebuild(ctx actor.Context, lost subtreeLost) {
	if s.jobsReleased() {
		return
	}
	bare, given := s.countCrash(lost)
	if given {
		s.giveUp(ctx, lost)
		return
	}
	inside := lost.holds
	if lost.session == "" {
		for _, path := range slices.Sorted(maps.Keys(s.scopeQuotas)) {
			if lost.scope.Contains(path) {
				s.send(ctx, messages.Address{Scope: path}, openScope{quota: s.scopeQuotas[path]}, nil)
			}
		}
	}
	for at, info := range s.sessions {
		if inside(at) {
			ask := s.sessionSpecs[at]
			ask.Scope, ask.Session, ask.Backend = at.Scope, at.Session, info.Backend
			s.send(ctx, at, openSession{ask: ask, bare: bare}, nil)
		}
	}
	for _, e := range s.inTurn() {
		if !s.endUnsettled(e) && !e.settled && inside(messages.Address{Scope: e.job.Scope, Session: e.job.Session}) {
			s.replace(ctx, e)
		}
	}
	for _, e := range s.settling {
		if !s.endUnsettled(e) && inside(messages.Address{Scope: e.job.Scope, Session: e.job.Session}) {
			s.place(ctx, e)
			s.askSettled(ctx, e)
		}
	}
	for at, o := range s.closings {
		if inside(at) && !o.awaitingHandover {
			s.send(ctx, at, o.request, nil)
		}
	}
	s.closeAgain(ctx, lost)
	if above := lost.above(); above != "" {
		s.send(ctx, messages.Address{Scope: above}, rebuilt{}, nil)
	}
	for id := range s.handovers {
		if e := s.jobs[id]; e != nil && inside(messages.Address{Scope: e.job.Scope, Session: e.job.Session}) {
			s.send(ctx, s.jobAddress(e), releaseJob{job: id}, nil)
		}
	}
}

// above returns the scope above the crashed actor, "" for the top.
func (o subtreeLost) above() messages.ScopePath {
	if o.session != "" {
		return o.scope
	}
	return o.scope.Parent()
}

// closeAgain closes a rebuilt session or scope within a scope that is being closed.
func (s *supervisor) closeAgain(ctx actor.Context, lost subtreeLost) {
	for at, o := range s.closings {
		r, ok := o.request.(messages.CloseScope)
		if !ok || o.awaitingHandover || !at.Scope.Contains(lost.above()) {
			continue
		}
		to := messages.Address{Scope: lost.scope, Session: lost.session}
		if lost.session != "" {
			s.send(ctx, to, messages.CloseSession{
				Scope: lost.scope, Session: lost.session, Grace: r.Grace, By: r.By, Reason: r.Reason,
			}, nil)
			continue
		}
		r.Path = lost.scope
		s.send(ctx, to, r, nil)
	}
}

// replace places a job again. A queued job asks for a slot again. A job with a slot keeps it:
// the engine may be starting it, and its process must have an owner.
func (s *supervisor) replace(ctx actor.Context, e *jobEntry) {
	switch {
	case s.startPending(e): // it has its slot when its start is recorded
	case e.job.State == messages.Queued && e.slotGranted:
		e.edit(func(job *messages.Record) { job.State = messages.Starting })
	case e.job.State == messages.Queued:
		s.grantSlots(ctx, s.admission.Release(e.job.ID))
		s.admission.Readmit(e.job.ID, e.job.Scope)
	}
	s.place(ctx, e)
}
