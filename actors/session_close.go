package actors

import (
	"slices"
	"time"

	"github.com/asynkron/protoactor-go/actor"
	"github.com/asynkron/protoactor-go/scheduler"

	"troupe/actors/lifecycle"
	"troupe/messages"
)

// closing is the state of a closing session. Its jobs end, its executor closes, and their
// ends are recorded or not waited for any more (confirmLate). Then it is down.
type closing struct {
	ask       messages.CloseSession
	shell     shellEnd
	awaiting  map[string]bool // commands with a pending syncFacts, by PID; false: answered
	look      scheduler.CancelFunc
	survivors []messages.Survivor
}

type shellEnd uint8

const (
	shellOpen shellEnd = iota
	shellClosing
	shellClosed
	shellSettled // every command has answered syncFacts
	allTold      // sessionStopped is sent
)

// syncFacts asks a command for factsSynced, which comes after all facts before it.
type (
	syncFacts   struct{ noDeadLetter }
	factsSynced struct {
		noDeadLetter
		who *actor.PID
	}
)

// replayPatience is how long the engine may take to replay the facts of an adopted job, maybe
// over a socket. An executor that is closed before would miss the job's leftovers or its end.
const replayPatience = time.Second

// closeTick continues a close after replayPatience.
type closeTick struct{ noDeadLetter }

// close closes the session. A repeated close joins it; the shortest grace counts.
func (s *session) close(ctx actor.Context, r messages.CloseSession) {
	if s.closing == nil {
		s.closing = &closing{ask: r, awaiting: map[string]bool{}}
		s.tellSettled(ctx)
		s.acceptUnchecked(ctx)
		s.machine.Step(lifecycle.Closed{})
	}
	if lifecycle.Grace(r.Grace) < lifecycle.Grace(s.closing.ask.Grace) {
		s.closing.ask.Grace = r.Grace
	}
	for _, t := range s.jobs {
		if !t.place.job.State.Ended() && !t.handingOver {
			s.stop(ctx, t, r)
		}
	}
	s.closeStep(ctx)
}

func (s *session) stop(ctx actor.Context, t *ticket, r messages.CloseSession) {
	by := r.By
	if by == messages.ByNone {
		by = messages.ByScope
	}
	request := messages.StopCommand{Job: t.place.job.ID, Grace: r.Grace, By: by, Reason: r.Reason}
	if t.unsupervised != nil {
		s.askUnsupervised(ctx, t, request)
		return
	}
	ctx.Send(t.pid, request)
}

// survived adds survivors. A job and the shell may name the same process.
func (c *closing) survived(left []messages.Survivor) {
	for _, one := range left {
		if !slices.ContainsFunc(c.survivors, func(s messages.Survivor) bool { return s.PID == one.PID }) {
			c.survivors = append(c.survivors, one)
		}
	}
}

// closeStep takes the close as far as it can go now.
func (s *session) closeStep(ctx actor.Context) {
	c := s.closing
	if c == nil {
		return
	}
	if wait := replayPatience - clock().Sub(s.adopted); wait > 0 && c.shell < shellSettled {
		if c.look == nil {
			c.look = sendLater(ctx, wait, closeTick{})
		}
		return
	}
	if c.shell == shellOpen && s.live() == 0 {
		c.shell = shellClosing
		if s.executor == nil {
			c.shell = shellSettled
		} else {
			s.executor.Close(lifecycle.Grace(c.ask.Grace))
		}
	}
	if c.shell == shellClosed && s.syncCommands(ctx) {
		c.shell = shellSettled
	}
	if c.shell == shellSettled && s.unrecorded() == 0 {
		s.down(ctx)
	}
}

// closingStep takes the messages of a close. All others are unexpected.
func (s *session) closingStep(ctx actor.Context, msg any) {
	switch m := msg.(type) {
	case factsSynced:
		if s.closing != nil {
			s.closing.awaiting[m.who.Id] = false
			s.closeStep(ctx)
		}
	case closeTick:
		s.closing.look = nil
		s.closeStep(ctx)
	case messages.CommandStopped, messages.CommandRejected:
		// answers to the stops of close
	default:
		unhandled(ctx, s.deps)
	}
}

func (s *session) shellClosed(ctx actor.Context, m messages.ShellClosed) {
	if s.closing == nil {
		s.failed = &messages.Error{Code: messages.SessionClosedCode, Message: "the session's shell has ended", Hint: "open the session again"}
		return
	}
	s.closing.shell = shellClosed
	s.closing.survived(m.Survivors)
	s.closeStep(ctx)
}

// syncCommands sends each command one syncFacts and reports whether all have answered.
func (s *session) syncCommands(ctx actor.Context) bool {
	all := true
	for _, t := range s.jobs {
		if t.pid == nil || t.handingOver {
			continue
		}
		awaited, asked := s.closing.awaiting[t.pid.Id]
		if !asked {
			s.closing.awaiting[t.pid.Id] = true
			ctx.Request(t.pid, syncFacts{})
		}
		all = all && asked && !awaited
	}
	return all
}

// live counts the jobs without an outcome.
func (s *session) live() int {
	n := 0
	for _, t := range s.jobs {
		if !t.place.job.State.Ended() {
			n++
		}
	}
	return n
}

// unrecorded counts the retired jobs whose last fact is not recorded. Jobs with children that
// outlive the session have no last fact; the close does not wait for them.
func (s *session) unrecorded() int {
	n := 0
	for _, t := range s.jobs {
		if t.place.job.State == messages.Retired {
			n++
		}
	}
	return n
}

func (s *session) down(ctx actor.Context) {
	s.closing.shell = allTold
	fact := messages.SessionClosed{
		Scope: s.open.Scope, Session: s.open.Session, Reason: s.closing.ask.Reason, By: s.closing.ask.By, Survivors: s.closing.survivors,
	}
	ctx.Send(ctx.Parent(), sessionStopped{who: ctx.Self(), fact: fact})
}
