package actors

import (
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/messages"
)

// Live shells stay after their commands have ended. A new shell beyond Limits.Shells closes the
// least recently used idle one, and a shell that is idle for Limits.ShellIdle is closed. A
// shell with a running or queued command is not idle.

// shells are the live shells of the node and their use.
type shells struct {
	uses       map[messages.Address]*shellUse
	idleTimer  scheduler.CancelFunc // of idleTick; nil: none
	recentEnds recentEnds
}

// shellUse is the use of one live shell.
type shellUse struct {
	used      time.Time // last opening, or start or end of a command
	pending   bool      // it is being opened
	endListed bool      // the end of its shell is in recentEnds and no new shell has started
	last      commandUse
}

// openPatience is how long a pending shell without a job counts. A crash can lose the answer
// to its request.
const openPatience = 10 * time.Second

// idleTick says that a shell may have been idle for too long.
type idleTick struct{ noDeadLetter }

// needsShell reports whether a request would open another live shell.
func (s *supervisor) needsShell(at messages.Address, plan messages.SessionPlan, asRun bool) bool {
	if s.shells.uses[at] != nil {
		return false
	}
	if _, open := s.sessions[at]; open {
		return false
	}
	return s.deps.isLive(plan.Backend) || asRun && plan.Backend == "" && s.deps.isLive(messages.BackendShell)
}

// checkShellLimit returns an error if the limit leaves no room for another live shell. Each
// pending shell needs one idle shell, which closes when the pending one is open.
func (s *supervisor) checkShellLimit() *messages.Error {
	if s.limit.Shells <= 0 || len(s.shells.uses) < s.limit.Shells {
		return nil
	}
	works := s.busySessions()
	for at, use := range s.shells.uses {
		if use.pending && clock().Sub(use.used) > openPatience && !works[at] {
			delete(s.shells.uses, at)
		}
	}
	n, idle := s.idleShells(works)
	if n-len(idle) < s.limit.Shells {
		return nil
	}
	return &messages.Error{
		Code: messages.ResourceExhausted, Reason: "shells",
		Message: fmt.Sprintf("every live shell is in use, and the node may have no more than %d", s.limit.Shells),
		Hint:    "close one, wait for a command to end, or set limits.shells higher",
	}
}

// idleShells counts the live shells and lists the idle ones.
func (s *supervisor) idleShells(works map[messages.Address]bool) (n int, idle []messages.Address) {
	for at, use := range s.shells.uses {
		if s.isClosing(at) != nil {
			continue
		}
		if n++; !use.pending && !works[at] {
			idle = append(idle, at)
		}
	}
	return n, idle
}

// shellsToEvict returns the least recently used idle shells beyond the limit, after one was
// opened. Pending shells do not count.
func (s *supervisor) shellsToEvict(opened messages.Address) []messages.Address {
	if s.limit.Shells <= 0 || len(s.shells.uses) <= s.limit.Shells {
		return nil
	}
	n, idle := s.idleShells(s.busySessions())
	for _, use := range s.shells.uses {
		if use.pending {
			n--
		}
	}
	idle = slices.DeleteFunc(idle, func(at messages.Address) bool { return at == opened })
	slices.SortFunc(idle, func(a, b messages.Address) int { return s.shells.uses[a].used.Compare(s.shells.uses[b].used) })
	return idle[:min(max(n-s.limit.Shells, 0), len(idle))]
}

// busySessions returns the sessions with a running or queued command, in one pass over the
// jobs.
func (s *supervisor) busySessions() map[messages.Address]bool {
	works := map[messages.Address]bool{}
	for _, e := range s.jobs {
		if !e.archived && !e.job.State.Ended() {
			works[messages.Address{Scope: e.job.Scope, Session: e.job.Session}] = true
		}
	}
	return works
}

// opensShell counts a pending live shell.
func (s *supervisor) opensShell(at messages.Address) {
	s.shells.uses[at] = &shellUse{used: clock(), pending: true}
}

// cleanUp closes an idle session.
func (s *supervisor) cleanUp(ctx actor.Context, at messages.Address) {
	s.close(ctx, at, messages.CloseSession{
		Scope: at.Scope, Session: at.Session, By: messages.BySystem, Reason: messages.AutoCleanup,
	}, nil)
}

// shellUp records an open live shell and closes those beyond the limit.
func (s *supervisor) shellUp(ctx actor.Context, at messages.Address, info messages.SessionInfo) {
	if !s.deps.isLive(info.Backend) {
		delete(s.shells.uses, at)
		return
	}
	use := s.shells.uses[at]
	if use == nil {
		use = &shellUse{used: clock()}
		s.shells.uses[at] = use
	}
	if use.pending {
		use.pending = false
		for _, victim := range s.shellsToEvict(at) {
			s.cleanUp(ctx, victim)
		}
	}
	s.idleSoon(ctx)
}

// shellUsed records a start or end of a command in a live shell.
func (s *supervisor) shellUsed(ctx actor.Context, fact messages.CommandFact, job *messages.Record) {
	if len(s.shells.uses) == 0 {
		return
	}
	use := s.shells.uses[messages.Address{Scope: job.Scope, Session: job.Session}]
	if use == nil {
		return
	}
	use.used = clock()
	if _, ended := fact.(messages.CommandFinished); !ended {
		return
	}
	use.last = useOf(*job)
	if job.HasFlag(messages.FlagSessionEnded) {
		use.endListed = true
		s.ended(use.last.end(job.Scope, job.Session, job.Backend, endOf(*job)))
	}
	s.idleSoon(ctx)
}

// shellReplaced records a new shell after a death. If the shell died between two commands, it
// adds its end to recentEnds.
func (s *supervisor) shellReplaced(m messages.SessionReplaced) {
	at := messages.Address{Scope: m.Scope, Session: m.Session}
	use := s.shells.uses[at]
	if use == nil {
		return
	}
	if !use.endListed {
		last := use.last
		last.code = nil
		s.ended(last.end(m.Scope, m.Session, s.sessions[at].Backend, messages.EndError))
	}
	use.endListed = false
	if info, open := s.sessions[at]; open && m.Dir != "" {
		info.Dir = m.Dir
		s.sessions[at] = info
	}
}

// shellGone removes a closed session and adds its end to recentEnds.
func (s *supervisor) shellGone(m messages.SessionClosed) {
	at := messages.Address{Scope: m.Scope, Session: m.Session}
	var last commandUse
	if use := s.shells.uses[at]; use != nil {
		last = use.last
	}
	delete(s.shells.uses, at)
	why := messages.EndStopped
	if m.By == messages.BySystem && m.Reason == messages.AutoCleanup {
		why = messages.EndCleanup
	}
	end := last.end(m.Scope, m.Session, s.sessions[at].Backend, why)
	end.Closed = true
	s.ended(end)
}

// ended stores an end, here and in the journal.
func (s *supervisor) ended(end messages.SessionEnd) {
	s.shells.recentEnds.add(end)
	s.queueEntry(JournalEntry{Ends: []messages.SessionEnd{end}})
}

// unopened removes a pending shell that could not be opened.
func (s *supervisor) unopened(at messages.Address) {
	if use := s.shells.uses[at]; use != nil && use.pending {
		delete(s.shells.uses, at)
	}
}

// idleSoon arms idleTick for the shell that is idle the longest.
func (s *supervisor) idleSoon(ctx actor.Context) {
	if s.limit.ShellIdle <= 0 || s.shells.idleTimer != nil || s.phase != open {
		return
	}
	next := time.Duration(-1)
	for at, use := range s.shells.uses {
		if left := use.used.Add(s.limit.ShellIdle).Sub(clock()); s.mayIdle(at, use) && (next < 0 || left < next) {
			next = max(left, time.Second)
		}
	}
	if next > 0 {
		s.shells.idleTimer = sendLater(ctx, next, idleTick{})
	}
}

// mayIdle reports whether a shell is open and not being closed.
func (s *supervisor) mayIdle(at messages.Address, use *shellUse) bool {
	return !use.pending && s.isClosing(at) == nil
}

// idle closes the shells that are idle for too long and arms the next tick. The end of a
// command arms it again.
func (s *supervisor) idle(ctx actor.Context) {
	s.shells.idleTimer = nil
	if s.phase != open {
		return
	}
	works := s.busySessions()
	for at, use := range s.shells.uses {
		if !s.mayIdle(at, use) || clock().Sub(use.used) < s.limit.ShellIdle {
			continue
		}
		if works[at] {
			use.used = clock()
			continue
		}
		s.cleanUp(ctx, at)
	}
	s.idleSoon(ctx)
}
