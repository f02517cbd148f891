package actors

import (
	"cmp"
	"maps"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// pendingClose is a closing that is on its way: what was asked, and who waits for it.
type pendingClose struct {
	request          any
	clients          []*actor.PID
	awaitingHandover bool // until the jobs that are being moved there have come
}

// arrange opens and closes parts of the tree, and moves jobs between them. While
// the journal fails nothing begins and nothing moves, but what is there may end.
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
		if _, ok := s.scopeQuotas[r.Path]; !ok {
			refuse(ctx, r, noSuchScope(r.Path))
			return
		}
		s.close(ctx, messages.Address{Scope: r.Path}, r, ctx.Sender())
	case messages.ReleaseScope:
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

// close sends a closing down, and owes its answer to the client, if there is
// one, until the tree has told that it is done.
func (s *supervisor) close(ctx actor.Context, at messages.Address, request any, client *actor.PID) {
	o, ok := s.closings[at]
	if !ok {
		o = &pendingClose{request: request, awaitingHandover: s.awaits(at)}
		s.closings[at] = o
	}
	if !o.awaitingHandover { // again, too: a shorter grace counts
		s.send(ctx, at, request, nil)
	}
	if client != nil {
		o.clients = append(o.clients, client)
	}
	s.confirmLate(ctx) // what has ended before
}

// sessionOpened keeps what a session is. That its actor is a new one is nobody's
// business.
func (s *supervisor) sessionUp(ctx actor.Context, m sessionOpened) {
	at := messages.Address{Scope: m.fact.Info.Scope, Session: m.fact.Info.Session}
	was, again := s.sessions[at]
	if m.fact.Info.Snapshot == messages.SnapshotNone { // a new actor does not know
		m.fact.Info.Snapshot, m.fact.Info.SnapshotError = was.Snapshot, was.SnapshotError
	}
	s.sessions[at], s.sessionSpecs[at] = m.fact.Info, m.ask
	s.shellUp(ctx, at, m.fact.Info)
	if !again {
		s.note(ctx, m.fact)
	}
}

// sessionFact keeps what is known of sessions and scopes, and pays closings.
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
			return // nobody was told that it was open
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

// isClosing refuses what would enter a part of the tree that is being closed:
// nothing is sent there any more, so that nothing can be lost with it.
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

// keepSessionJobs takes over the jobs of a session that is gone: those whose processes
// were told to outlive it.
func (s *supervisor) keepSessionJobs(ctx actor.Context, at messages.Address) {
	for _, e := range s.sorted() {
		if !e.archived && e.job.State.Ended() && e.job.Scope == at.Scope && e.job.Session == at.Session {
			s.retire(ctx, e)
			s.settled(ctx, e.job.ID) // as far as it goes: its processes were told to survive
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

// scopeStopped stops a top scope that has ended.
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

// scopeLost rebuilds a top scope that died.
func (s *supervisor) scopeLost(ctx actor.Context, path messages.ScopePath) {
	if s.jobsReleased() {
		s.shutdownStep(ctx)
		return
	}
	s.rebuild(ctx, subtreeLost{scope: path})
}

// rebuild places again what a dead session or scope held: jobs belong to the
// engine, and actors are put around them. Closings that were on their way are
// asked for again, last.
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

// above is the scope in which the dead actor was a child, "" for the top.
func (o subtreeLost) above() messages.ScopePath {
	if o.session != "" {
		return o.scope
	}
	return o.scope.Parent()
}

// closeAgain closes what was placed again within a scope that is being closed.
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

// replace places a job again. One that waits asks for its turn anew. One that
// had its turn keeps it: its engine may have been asked already, and a process
// that is about to begin must not be without an owner meanwhile.
func (s *supervisor) replace(ctx actor.Context, e *jobEntry) {
	switch {
	case e.job.State == messages.Queued && e.slotGranted:
		e.edit(func(job *messages.Job) { job.State = messages.Starting })
	case e.job.State == messages.Queued:
		s.grantSlots(ctx, s.admission.Release(e.job.ID))
		s.admission.Readmit(e.job.ID, e.job.Scope)
	}
	s.place(ctx, e)
}
