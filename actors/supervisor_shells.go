package actors

import (
	"fmt"
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/messages"
)

// Live shells stay when their commands have ended, so somebody must see to it that
// they do not become too many: the one that was used the longest ago makes room for a
// new one (Limits.Shells), and one that nobody uses for long is closed
// (Limits.ShellIdle). One in which a command runs or waits is never closed for that.

// shells are the live shells of the node, and what is known of their use.
type shells struct {
	uses       map[messages.Address]*shellUse
	idleTimer  scheduler.CancelFunc // at those that nobody uses
	recentEnds recentEnds
}

// shellUse is the use of one.
type shellUse struct {
	used    time.Time // when a command began or ended, or it was opened
	pending bool      // it is being opened
	told    bool      // the end of its shell is in the list; the next one has not begun
	last    commandUse
}

// openPatience is how long a session that is being opened counts without a job of its
// own: an actor that dies with the request takes the answer along.
const openPatience = 10 * time.Second

// idleTick says that a shell may have been idle for too long.
type idleTick struct{ noDeadLetter }

// needsShell says whether a request would make a live shell that is not there.
func (s *supervisor) needsShell(at messages.Address, plan messages.SessionPlan, asRun bool) bool {
	if s.shells.uses[at] != nil {
		return false
	}
	if _, open := s.sessions[at]; open {
		return false
	}
	return s.deps.isLive(plan.Backend) || asRun && plan.Backend == "" && s.deps.isLive(messages.BackendShell)
}

// checkShellLimit says why there is no room for one more live shell. Who must go for one that is being
// opened goes when it is open, so that many of the others must be at rest.
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

// idleShells counts the live shells, and lists those that nobody uses.
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

// shellsToEvict are the shells that must go for one that is open now: those that were used the
// longest ago. What is being opened is none yet.
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

// busySessions are the sessions in which a command runs or waits. There may be thousands of
// jobs, and of shells, too: they are looked at once for all.
func (s *supervisor) busySessions() map[messages.Address]bool {
	works := map[messages.Address]bool{}
	for _, e := range s.jobs {
		if !e.archived && !e.job.State.Ended() {
			works[messages.Address{Scope: e.job.Scope, Session: e.job.Session}] = true
		}
	}
	return works
}

// opensShell counts a live shell that is about to be opened.
func (s *supervisor) opensShell(at messages.Address) {
	s.shells.uses[at] = &shellUse{used: clock(), pending: true}
}

// cleanUp closes a session that nobody uses.
func (s *supervisor) cleanUp(ctx actor.Context, at messages.Address) {
	s.close(ctx, at, messages.CloseSession{
		Scope: at.Scope, Session: at.Session, By: messages.BySystem, Reason: messages.AutoCleanup,
	}, nil)
}

// shellUp takes note of a live shell that is open.
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

// shellUsed takes note of a command of a live shell that began or ended.
func (s *supervisor) shellUsed(ctx actor.Context, fact messages.CommandFact, job *messages.Job) {
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
		use.told = true
		s.ended(use.last.end(job.Scope, job.Session, job.Backend, endOf(*job)))
	}
	s.idleSoon(ctx)
}

// shellReplaced takes note of a new shell where one had died: of one that died
// between two commands this is the first that is heard.
func (s *supervisor) shellReplaced(m messages.SessionReplaced) {
	at := messages.Address{Scope: m.Scope, Session: m.Session}
	use := s.shells.uses[at]
	if use == nil {
		return
	}
	if !use.told {
		last := use.last
		last.code = nil
		s.ended(last.end(m.Scope, m.Session, s.sessions[at].Backend, messages.EndError))
	}
	use.told = false
	if info, open := s.sessions[at]; open && m.Dir != "" {
		info.Dir = m.Dir
		s.sessions[at] = info
	}
}

// shellGone forgets a session that was closed, and keeps its end among the last ones.
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

// ended keeps an end, also for the node that follows.
func (s *supervisor) ended(end messages.SessionEnd) {
	s.shells.recentEnds.add(end)
	s.queueEntry(JournalEntry{Ends: []messages.SessionEnd{end}})
}

// unopened forgets a session that there is not.
func (s *supervisor) unopened(at messages.Address) {
	if use := s.shells.uses[at]; use != nil && use.pending {
		delete(s.shells.uses, at)
	}
}

// idleSoon sees to it that the shells that nobody uses are looked at.
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

// mayIdle says whether a shell is there, and to stay as far as is known.
func (s *supervisor) mayIdle(at messages.Address, use *shellUse) bool {
	return !use.pending && s.isClosing(at) == nil
}

// idle closes the shells that nobody has used for too long, and comes back for the
// others. One that works comes to rest by a fact that leads here again.
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
