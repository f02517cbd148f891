package actors

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"troupe/backends"
	"troupe/messages"
)

// An engine holds a live shell as a job of its own, which is never listed and never lost. Its
// metadata names the session, so that a restart opens the session even if no command runs.

// inventoryShell is a live shell in the inventory.
type inventoryShell struct {
	backends.InventoryJob
	place   backends.ExecutorSpec
	backend string
}

// apart separates jobs and live shells in an inventory.
func apart(all []backends.InventoryJob) (jobs []backends.InventoryJob, shells []inventoryShell) {
	for _, h := range all {
		if place, backend, is := backends.ReadShellMeta(h.Meta); is {
			shells = append(shells, inventoryShell{h, place, backend})
		} else {
			jobs = append(jobs, h)
		}
	}
	return jobs, shells
}

// reopenShells returns the sessions of live shells with their plans. Their opening is recorded,
// since that happens before a shell starts.
func (s *supervisor) reopenShells(shells []inventoryShell) map[messages.Address]*openSession {
	asks := map[messages.Address]*openSession{}
	slices.SortFunc(shells, func(a, b inventoryShell) int { return strings.Compare(string(a.ID), string(b.ID)) })
	for _, h := range shells {
		at := messages.Address{Scope: h.place.Scope, Session: h.place.Session}
		s.restoreScopes(at.Scope, nil, true)
		o := asks[at]
		if o == nil {
			o = &openSession{ask: messages.OpenSession{Scope: at.Scope, Session: at.Session, SessionPlan: h.plan()}}
			asks[at] = o
		}
		o.held = append(o.held, h.InventoryJob)
		o.ask.Dir = cmp.Or(h.Dir, o.ask.Dir) // the last is the newest
		s.sessionSpecs[at] = o.ask
		s.sessions[at] = messages.SessionInfo{Scope: at.Scope, Session: at.Session, Backend: h.backend, Dir: o.ask.Dir}
	}
	return asks
}

// rememberUses restores the last use of live shells from the records of jobs.
func (s *supervisor) rememberUses(shells []inventoryShell) {
	for _, h := range shells {
		at := messages.Address{Scope: h.place.Scope, Session: h.place.Session}
		s.shells.uses[at] = &shellUse{used: clock()}
	}
	last := map[messages.Address]messages.Record{}
	for _, e := range s.jobs {
		at := messages.Address{Scope: e.job.Scope, Session: e.job.Session}
		if s.shells.uses[at] != nil && e.job.State.Ended() && e.job.End.At.After(last[at].End.At) {
			last[at] = *e.job
		}
	}
	for at, job := range last {
		*s.shells.uses[at] = shellUse{used: job.End.At, last: useOf(job)}
	}
}

// plan returns the plan of the session without its environment, which is in the shell.
func (h inventoryShell) plan() messages.SessionPlan {
	plan := messages.SessionPlan{Backend: h.backend, Dir: h.place.Dir, Shell: h.place.Shell, Terminal: h.place.Terminal, Limits: h.place.Limits}
	if h.place.Umask >= 0 {
		plan.Umask = fmt.Sprintf("%04o", h.place.Umask)
	}
	return plan
}
