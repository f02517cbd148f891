package actors

import (
	"fmt"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// close closes all sessions and sub-scopes at the same time. A repeated close may shorten
// the grace.
func (s *scope) close(ctx actor.Context, r messages.CloseScope) {
	if s.closing == nil {
		s.closing = &scopeClosing{ask: r}
	}
	s.closeChildren(ctx, r)
	s.closeStep(ctx)
}

func (s *scope) closeChildren(ctx actor.Context, r messages.CloseScope) {
	for name, pid := range s.scopes {
		below := r
		below.Path = s.path + "/" + messages.ScopePath(name)
		ctx.Send(pid, routed{to: messages.Address{Scope: below.Path}, request: below})
	}
	for id := range s.sessions {
		s.closeSession(ctx, id, r)
	}
}

func (s *scope) closeSession(ctx actor.Context, id messages.SessionID, r messages.CloseScope) {
	ctx.Send(s.sessions[id], routed{to: messages.Address{Scope: s.path, Session: id}, request: messages.CloseSession{
		Scope: s.path, Session: id, Grace: r.Grace, By: r.By, Reason: r.Reason,
	}})
}

// sessionDown stops a closed session and reports it.
func (s *scope) sessionDown(ctx actor.Context, m sessionStopped) {
	delete(s.holds, m.who.Id)
	if pid := s.sessions[m.fact.Session]; pid != nil && pid.Equal(m.who) {
		delete(s.sessions, m.fact.Session)
		delete(s.none, m.fact.Session)
	}
	poisonChild(ctx, m.who)
	ctx.Send(ctx.Parent(), m.fact)
	if s.closing != nil {
		s.closing.survivors = append(s.closing.survivors, m.fact.Survivors...)
	}
	s.closeStep(ctx)
}

// scopeDown stops a closed sub-scope and reports it.
func (s *scope) scopeDown(ctx actor.Context, m scopeStopped) {
	delete(s.holds, m.who.Id)
	for name, pid := range s.scopes {
		if pid.Equal(m.who) {
			delete(s.scopes, name)
		}
	}
	poisonChild(ctx, m.who)
	ctx.Send(ctx.Parent(), m.fact)
	if s.closing != nil {
		s.closing.survivors = append(s.closing.survivors, m.fact.Survivors...)
	}
	s.closeStep(ctx)
}

// closeStep reports the end of the scope when no child is left.
func (s *scope) closeStep(ctx actor.Context) {
	c := s.closing
	if c == nil || c.reported || len(s.sessions) > 0 || len(s.scopes) > 0 || s.missing > 0 {
		return
	}
	c.reported = true
	slices.Sort(c.stopped)
	fact := messages.ScopeClosed{Path: s.path, Reason: c.ask.Reason, Jobs: c.stopped, Survivors: c.survivors}
	ctx.Send(ctx.Parent(), scopeStopped{who: ctx.Self(), fact: fact})
}

// lost asks the supervisor to place the jobs of a crashed child again. The engine still runs
// them.
func (s *scope) lost(ctx actor.Context, who *actor.PID) {
	held, ok := s.holds[who.Id]
	if !ok {
		return // it was stopped after its report
	}
	delete(s.holds, who.Id)
	if held.session != "" {
		delete(s.sessions, held.session)
		delete(s.none, held.session)
	} else {
		delete(s.scopes, held.scope.Names()[len(held.scope.Names())-1])
	}
	s.missing++
	ctx.Send(ctx.Parent(), held)
}

func noSuchScope(path messages.ScopePath) *messages.Error {
	return &messages.Error{
		Code: messages.NotFound, Reason: "scope", Message: fmt.Sprintf("there is no scope %s", path),
		Hint: "list the scopes",
	}
}

func scopeIsClosing(path messages.ScopePath) *messages.Error {
	return &messages.Error{
		Code: messages.SessionClosedCode, Reason: "scope", Message: fmt.Sprintf("scope %s is being closed", path),
		Hint: "use another scope, or open it again after it is closed",
	}
}

func exhausted(what string, path messages.ScopePath, limit int) *messages.Error {
	hint := "wait for one to end, or raise the quota"
	if what == "sessions" {
		hint = "close one or raise the quota"
	}
	return &messages.Error{
		Code: messages.ResourceExhausted, Reason: what,
		Message: fmt.Sprintf("scope %s: limit of %d %s reached", path, limit, what), Hint: hint,
	}
}
