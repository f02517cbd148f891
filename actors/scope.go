package actors

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// scope is one owner's part of the tree: sessions, sub-scopes and a quota. Closing it closes
// all below. It routes messages between its parent, the supervisor or a scope, and its
// children.
type scope struct {
	deps     *Deps
	path     messages.ScopePath
	quota    messages.ScopeQuota
	sessions map[messages.SessionID]*actor.PID
	none     map[messages.SessionID]bool // sessions that could not be opened
	scopes   map[string]*actor.PID       // sub-scopes, by the last element of their path
	holds    map[string]subtreeLost      // what to place again after a crash of a child, by PID
	jobs     map[messages.JobID]bool     // that count against the quota
	missing  int                         // crashed children whose jobs are being placed again
	closing  *scopeClosing               // nil: open
}

// scopeClosing is the state of a closing scope.
type scopeClosing struct {
	ask       messages.CloseScope
	stopped   []messages.JobID
	survivors []messages.Survivor
	reported  bool // scopeStopped is sent
}

func newScope(d *Deps, path messages.ScopePath) *scope {
	return &scope{
		deps: d, path: path, sessions: map[messages.SessionID]*actor.PID{}, none: map[messages.SessionID]bool{}, scopes: map[string]*actor.PID{},
		holds: map[string]subtreeLost{}, jobs: map[messages.JobID]bool{},
	}
}

// Receive implements actor.Actor.
func (s *scope) Receive(ctx actor.Context) {
	switch msg := ctx.Message().(type) {
	case *actor.Started:
		ctx.Send(ctx.Parent(), messages.ScopeOpened{Path: s.path})
	case *actor.Terminated:
		ctx.Send(ctx.Self(), childStopped{who: msg.Who}) // after the child's remaining messages
	case childStopped:
		s.lost(ctx, msg.who)
	case routed:
		s.route(ctx, msg)
	case sessionStopped:
		s.sessionDown(ctx, msg)
	case scopeStopped:
		s.scopeDown(ctx, msg)
	default:
		s.passUp(ctx, msg)
	}
}

// route handles a request, or passes it to a sub-scope or a session.
func (s *scope) route(ctx actor.Context, msg routed) {
	if msg.to.Scope != s.path {
		s.routeBelow(ctx, msg)
		return
	}
	switch r := msg.request.(type) {
	case openScope:
		s.quota = r.quota
		if ctx.Sender() != nil {
			ctx.Respond(messages.ScopeOpened{Path: s.path})
		}
	case messages.CloseScope:
		s.close(ctx, r)
	case openSession:
		s.openSession(ctx, msg, r)
	case placement:
		s.place(ctx, msg, r)
	case rebuilt:
		s.missing = max(s.missing-1, 0)
		s.closeStep(ctx)
	case quotaReleased:
		s.left(r.job)
	default:
		s.toSession(ctx, msg)
	}
}

// routeBelow passes a request to a sub-scope. It spawns a missing one if the request opens
// it.
func (s *scope) routeBelow(ctx actor.Context, msg routed) {
	name := msg.to.Scope.Names()[len(s.path.Names())]
	child, ok := s.scopes[name]
	if !ok {
		if !creates(msg.request) {
			refuse(ctx, msg.request, missing(msg.to, noSuchScope(msg.to.Scope)))
			return
		}
		child = s.spawnScope(ctx, name)
	}
	if p, ok := msg.request.(placement); ok && !s.admit(ctx, p) {
		return
	}
	ctx.RequestWithCustomSender(child, msg, ctx.Sender())
}

// creates reports whether a request opens a missing scope.
func creates(request any) bool {
	switch request.(type) {
	case openScope, openSession, placement:
		return true
	}
	return false
}

func (s *scope) spawnScope(ctx actor.Context, name string) *actor.PID {
	deps, path := s.deps, s.path+"/"+messages.ScopePath(name)
	pid := ctx.SpawnPrefix(deps.inline(func() actor.Actor { return newScope(deps, path) }), kindScope+name)
	s.scopes[name] = pid
	s.holds[pid.Id] = subtreeLost{scope: path}
	return pid
}

// openSession passes OpenSession to the session, which answers. It spawns a missing one.
func (s *scope) openSession(ctx actor.Context, msg routed, r openSession) {
	if s.closing != nil && ctx.Sender() != nil {
		refuse(ctx, r.ask, scopeIsClosing(s.path))
		return
	}
	pid, ok := s.sessions[msg.to.Session]
	if !ok && ctx.Sender() != nil && s.quota.Sessions > 0 && len(s.sessions)-len(s.none) >= s.quota.Sessions {
		refuse(ctx, r.ask, exhausted("sessions", s.path, s.quota.Sessions))
		ctx.Send(ctx.Parent(), openFailed{at: msg.to})
		return
	}
	if !ok {
		pid = s.spawnSession(ctx, r)
	}
	ctx.RequestWithCustomSender(pid, routed{to: msg.to, request: r.ask}, ctx.Sender())
}

// maxNone bounds the sessions that could not be opened and wait for another try.
const maxNone = 64

func (s *scope) spawnSession(ctx actor.Context, o openSession) *actor.PID {
	for id := range s.none {
		if len(s.none) < maxNone {
			break
		}
		delete(s.none, id)
		s.closeSession(ctx, id, messages.CloseScope{By: messages.BySystem})
	}
	deps := s.deps
	pid := ctx.SpawnPrefix(deps.props(func() actor.Actor { return newSession(deps, o) }), kindSession+string(o.ask.Session))
	s.sessions[o.ask.Session] = pid
	s.holds[pid.Id] = subtreeLost{scope: s.path, session: o.ask.Session}
	return pid
}

// place counts a job and passes it to its session.
func (s *scope) place(ctx actor.Context, msg routed, p placement) {
	if !s.admit(ctx, p) {
		return
	}
	pid, ok := s.sessions[msg.to.Session]
	if !ok {
		if s.quota.Sessions > 0 && len(s.sessions)-len(s.none) >= s.quota.Sessions && isNew(p.job) {
			s.left(p.job.ID) // admit has counted it
			s.unplace(ctx, p.job.ID, exhausted("sessions", s.path, s.quota.Sessions))
			ctx.Send(ctx.Parent(), openFailed{at: messages.Address{Scope: s.path, Session: msg.to.Session}})
			return
		}
		pid = s.spawnSession(ctx, openSession{ask: messages.OpenSession{Scope: s.path, Session: msg.to.Session, SessionPlan: p.options.plan()}, tentative: true})
	}
	ctx.Send(pid, msg.request)
}

// admit counts a job against the quota of this scope. A reported job is never refused: it
// only moves.
func (s *scope) admit(ctx actor.Context, p placement) bool {
	switch {
	case isNew(p.job) && s.closing != nil:
		s.unplace(ctx, p.job.ID, scopeIsClosing(s.path))
		return false
	case isNew(p.job) && s.quota.Jobs > 0 && len(s.jobs) >= s.quota.Jobs && !s.jobs[p.job.ID]:
		s.unplace(ctx, p.job.ID, exhausted("jobs", s.path, s.quota.Jobs))
		return false
	}
	if !p.job.State.Ended() {
		s.jobs[p.job.ID] = true
	}
	return true
}

// isNew reports whether no fact about a job exists yet.
func isNew(job *messages.Record) bool { return job.State == messages.Queued && job.Seq == 0 }

func (s *scope) unplace(ctx actor.Context, id messages.JobID, err *messages.Error) {
	ctx.Send(ctx.Parent(), placeRejected{job: id, err: *err})
}

func noSuchSession(at messages.Address) *messages.Error {
	return &messages.Error{
		Code: messages.NotFound, Reason: "session", Message: fmt.Sprintf("there is no session %.64s in scope %.64s", at.Session, at.Scope),
		Hint: "list the sessions",
	}
}

func (s *scope) toSession(ctx actor.Context, msg routed) {
	pid, ok := s.sessions[msg.to.Session]
	if !ok {
		refuse(ctx, msg.request, missing(msg.to, noSuchSession(messages.Address{Scope: s.path, Session: msg.to.Session})))
		return
	}
	ctx.RequestWithCustomSender(pid, msg, ctx.Sender())
}

// passUp passes a child's message to the parent and updates the counts.
func (s *scope) passUp(ctx actor.Context, msg any) {
	switch m := msg.(type) {
	case jobUpdate:
		if _, ends := m.fact.(messages.CommandFinished); ends {
			s.left(m.job.ID)
		}
	case placeRejected:
		s.left(m.job)
	case jobReleased:
		s.left(m.job)
	case sessionOpened:
		if m.ask.Scope == s.path {
			delete(s.none, m.ask.Session)
		}
	case openFailed:
		if m.at.Scope == s.path && s.sessions[m.at.Session] != nil {
			s.none[m.at.Session] = true
		}
	case messages.SessionReplaced, messages.ScopeOpened,
		messages.SessionClosed, messages.ScopeClosed, slotRequested, slotReturned, subtreeLost, queryRecorded, settled, unsettled, notMovable:
	default:
		unhandled(ctx, s.deps)
		return
	}
	ctx.Send(ctx.Parent(), msg)
}

func (s *scope) left(id messages.JobID) {
	if s.closing != nil && s.jobs[id] {
		s.closing.stopped = append(s.closing.stopped, id)
	}
	delete(s.jobs, id)
}
