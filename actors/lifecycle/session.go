package lifecycle

import (
	"fmt"
	"math"
	"slices"

	"troupe/messages"
)

// Session is what a session decides: which of its jobs may run. Parallel jobs
// run at a time (1: serial), Queue more may wait; a job that could run asks the
// node for its turn, so that no session can starve another scope.
type Session struct {
	Parallel int
	Queue    int
	Closing  bool

	waiting []messages.JobID         // in order
	active  map[messages.JobID]stage // asked for a turn, or running
}

type stage uint8

const (
	asking stage = iota
	running
)

// Events of a session.
type (
	// Enqueued says that a job was placed, with its turn or without.
	Enqueued struct {
		Job  messages.JobID
		Turn bool
	}
	// Moved says that a job that waits, or has its turn, was placed anew: by hand-over,
	// or because an actor died. It is not refused for want of room.
	Moved struct {
		Job  messages.JobID
		Turn bool
	}
	// SlotGranted says that the node lets the job start.
	SlotGranted struct{ Job messages.JobID }
	// Taken says that a running job came from elsewhere: by hand-over or after
	// a restart.
	Taken struct{ Job messages.JobID }
	// Gone says that a job ended, or was handed over.
	Gone struct{ Job messages.JobID }
	// Closed says that the session takes no more jobs.
	Closed struct{}
)

// SessionEffect is what the session actor must do.
//
//sumtype:decl
type SessionEffect interface{ sessionEffect() }

// The effects of a session.
type (
	// RequestSlot asks the node for a turn to start the job.
	RequestSlot struct{ Job messages.JobID }
	// Begin lets the job's command start.
	Begin struct{ Job messages.JobID }
	// ReturnSlot gives a turn back that nobody needs any more.
	ReturnSlot struct{ Job messages.JobID }
	// RefuseJob refuses a job that cannot be placed.
	RefuseJob struct {
		Job messages.JobID
		Err messages.Error
	}
)

func (RequestSlot) sessionEffect() {}
func (Begin) sessionEffect()       {}
func (ReturnSlot) sessionEffect()  {}
func (RefuseJob) sessionEffect()   {}

// NewSession is an open session without jobs.
func NewSession(parallel, queue int) Session {
	return Session{Parallel: max(parallel, 1), Queue: queue, active: map[messages.JobID]stage{}}
}

// Waits says whether a job is in the queue.
func (s *Session) Waits(job messages.JobID) bool { return slices.Contains(s.waiting, job) }

// Step answers an event. The session is changed in place: it is its actor's
// alone and holds a map.
func (s *Session) Step(event any) []SessionEffect {
	switch e := event.(type) {
	case Enqueued:
		return s.useTurn(e.Job, e.Turn, s.enqueue(e.Job, s.Queue))
	case Moved:
		if e.Turn && s.Closing { // it may have begun: it is stopped, not refused
			s.active[e.Job] = running
			return []SessionEffect{Begin{e.Job}}
		}
		return s.useTurn(e.Job, e.Turn, s.enqueue(e.Job, math.MaxInt))
	case SlotGranted:
		if st, ok := s.active[e.Job]; !ok || st != asking {
			return []SessionEffect{ReturnSlot(e)}
		}
		s.active[e.Job] = running
		return []SessionEffect{Begin(e)}
	case Taken:
		s.active[e.Job] = running
	case Gone:
		delete(s.active, e.Job)
		s.waiting = slices.DeleteFunc(s.waiting, func(j messages.JobID) bool { return j == e.Job })
		return s.fill(nil)
	case Closed:
		s.Closing = true
	}
	return nil
}

// useTurn begins a job that would ask for the turn it has, or gives that back. One
// that is refused has given it back by that.
func (s *Session) useTurn(job messages.JobID, turn bool, todo []SessionEffect) []SessionEffect {
	if !turn {
		return todo
	}
	for i, effect := range todo {
		switch effect.(type) {
		case RequestSlot:
			s.active[job] = running
			todo[i] = Begin{job}
			return todo
		case RefuseJob:
			return todo
		}
	}
	return append(todo, ReturnSlot{job})
}

func (s *Session) enqueue(job messages.JobID, room int) []SessionEffect {
	if st, again := s.active[job]; again && st == asking {
		return []SessionEffect{RequestSlot{job}} // its turn may have been forgotten with an actor on the way
	}
	if _, again := s.active[job]; again || slices.Contains(s.waiting, job) {
		return nil
	}
	switch {
	case s.Closing:
		return []SessionEffect{RefuseJob{job, messages.Error{
			Code: messages.SessionClosedCode, Message: "the session is closed", Hint: "open it again",
		}}}
	case len(s.active) >= s.Parallel && len(s.waiting) >= room:
		return []SessionEffect{RefuseJob{job, messages.Error{
			Code:    messages.QueueFull,
			Message: fmt.Sprintf("the session runs %d jobs and %d more are waiting, which is all it takes", len(s.active), len(s.waiting)),
			Hint:    "wait for one of them to end, or use another session",
		}}}
	}
	s.waiting = append(s.waiting, job)
	return s.fill(nil)
}

// fill asks for turns for as many waiting jobs as there is room.
func (s *Session) fill(todo []SessionEffect) []SessionEffect {
	for len(s.waiting) > 0 && len(s.active) < s.Parallel {
		job := s.waiting[0]
		s.waiting = s.waiting[1:]
		s.active[job] = asking
		todo = append(todo, RequestSlot{job})
	}
	return todo
}
