package actors

import (
	"cmp"
	"maps"
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// leaveScope ends what a client leaves in a scope, except kept jobs. It decides about all jobs
// in one message, so that other requests cannot change the result.
func (s *supervisor) leaveScope(ctx actor.Context, r messages.ReleaseScope) {
	p := s.parts(r.Path)
	if _, open := s.scopeQuotas[r.Path]; !open && len(p.kept)+len(p.ended) == 0 {
		refuse(ctx, r, noSuchScope(r.Path))
		return
	}
	if len(p.kept) == 0 || s.isClosing(messages.Address{Scope: r.Path}) != nil { // a closing scope keeps no jobs
		whole := messages.CloseScope{Path: r.Path, Grace: r.Grace, By: messages.ByScope, Reason: r.Reason}
		s.close(ctx, messages.Address{Scope: r.Path}, whole, ctx.Sender())
		return
	}
	left := messages.ScopeReleased{Path: r.Path, Jobs: p.ended, Kept: p.kept}
	waits := len(p.scopes) + len(p.sessions) + min(len(p.stops), 1)
	pid := ctx.SpawnPrefix(scopeReleaseProps(s.deps, left, waits, ctx.Sender()), kindScopeRelease)
	s.waiters[pid.Id] = &waiterEntry{pid: pid, client: ctx.Sender(), request: r}
	for _, path := range p.scopes {
		s.close(ctx, messages.Address{Scope: path}, messages.CloseScope{Path: path, Grace: r.Grace, By: messages.ByScope, Reason: r.Reason}, pid)
	}
	for _, at := range p.sessions {
		s.close(ctx, at, messages.CloseSession{Scope: at.Scope, Session: at.Session, Grace: r.Grace, By: messages.ByScope, Reason: r.Reason}, pid)
	}
	var stops []messages.StopCommand
	for _, id := range p.stops {
		stops = append(stops, messages.StopCommand{Job: id, Grace: r.Grace, By: messages.ByScope, Reason: r.Reason})
	}
	if len(stops) > 0 {
		each := ctx.SpawnPrefix(groupStopProps(s.deps, stops, pid), kindGather)
		s.waiters[each.Id] = &waiterEntry{pid: each, client: pid, request: stops[0]}
	}
}

// releasePlan says which jobs of a released scope stay and which end. A job ends with its
// scope, with its session, or by a stop if its session has kept jobs.
type releasePlan struct {
	kept, ended []messages.JobID
	scopes      []messages.ScopePath // to close, without those below them
	sessions    []messages.Address   // to close, outside of scopes
	stops       []messages.JobID     // to stop, outside of scopes and sessions
}

func (s *supervisor) parts(root messages.ScopePath) releasePlan {
	var p releasePlan
	needed, holds := map[messages.ScopePath]bool{}, map[messages.Address]bool{} // by kept jobs
	for _, e := range s.sorted() {
		if e.job.State.Ended() || !root.Contains(e.job.Scope) {
			continue
		}
		if !e.job.Kept() && !e.keepRequested || e.job.State == messages.Stopping {
			p.ended = append(p.ended, e.job.ID)
			continue
		}
		p.kept = append(p.kept, e.job.ID)
		holds[messages.Address{Scope: e.job.Scope, Session: e.job.Session}] = true
		for _, path := range waysTo(e.job.Scope) {
			needed[path] = true
		}
	}
	for _, path := range slices.Sorted(maps.Keys(s.scopeQuotas)) {
		if root.Contains(path) && !needed[path] && needed[path.Parent()] {
			p.scopes = append(p.scopes, path)
		}
	}
	for at := range s.sessions {
		if needed[at.Scope] && root.Contains(at.Scope) && !holds[at] {
			p.sessions = append(p.sessions, at)
		}
	}
	slices.SortFunc(p.sessions, func(a, b messages.Address) int {
		return cmp.Or(cmp.Compare(a.Scope, b.Scope), cmp.Compare(a.Session, b.Session))
	})
	for _, id := range p.ended {
		job := s.jobs[id].job
		at := messages.Address{Scope: job.Scope, Session: job.Session}
		around := func(path messages.ScopePath) bool { return path.Contains(at.Scope) }
		if !slices.ContainsFunc(p.scopes, around) && !slices.Contains(p.sessions, at) {
			p.stops = append(p.stops, id)
		}
	}
	return p
}
