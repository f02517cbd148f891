package lifecycle

import (
	"fmt"
	"math"
	"slices"

	"troupe/messages"
)

// Session decides which jobs of a session may run. Parallel jobs run at a time (1: serial),
// Queue more may wait. A job that could run asks the node for a start slot, so that no
// session can starve another scope.
type Session struct {
	Parallel int
	Queue    int
	Closing  bool

	waiting []messages.JobID         // in order
	held    map[messages.JobID]bool  // those that wait for something else first
	active  map[messages.JobID]stage // asked for a slot, or running
}

type stage uint8

const (
	asking stage = iota
	running
)

// Events of a session.
type (
	// Enqueued says that a new job was placed.
	Enqueued struct {
		Job  messages.JobID
		Turn bool // it has a start slot
		Held bool // it waits for something else until Unheld
	}
	// Moved says that an unstarted job was placed again, by a hand-over or after a crash. The
	// queue limit does not refuse it.
	Moved struct {
		Job  messages.JobID
		Turn bool // it has a start slot
		Held bool // it waits for something else until Unheld
	}
	// Unheld says that a job waits for nothing else any more.
	Unheld struct{ Job messages.JobID }
	// SlotGranted says that the job has a start slot.
	SlotGranted struct{ Job messages.JobID }
	// Taken says that a running job was placed, by a hand-over or after a restart.
	Taken struct{ Job messages.JobID }
	// Gone says that a job ended, or was handed over.
	Gone struct{ Job messages.JobID }
	// Closed says that the session takes no new jobs.
	Closed struct{}
)

// SessionEffect is what the session actor must do.
//
//sumtype:decl
type SessionEffect interface{ sessionEffect() }

// The effects of a session.
type (
	// RequestSlot asks the node for a start slot for the job.
	RequestSlot struct{ Job messages.JobID }
	// Begin lets the job's command start.
	Begin struct{ Job messages.JobID }
	// ReturnSlot returns a slot that the job does not need.
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

// NewSession returns an open session without jobs.
func NewSession(parallel, queue int) Session {
	return Session{Parallel: max(parallel, 1), Queue: queue, active: map[messages.JobID]stage{}, held: map[messages.JobID]bool{}}
}

// Waits reports whether a job is in the queue.
func (s *Session) Waits(job messages.JobID) bool { return slices.Contains(s.waiting, job) }

// Step returns the effects of an event. It changes the session in place: a copy would share
// the map.
func (s *Session) Step(event any) []SessionEffect {
	switch e := event.(type) {
	case Enqueued:
		s.hold(e.Job, e.Held)
		return s.useTurn(e.Job, e.Turn, s.enqueue(e.Job, s.Queue))
	case Moved:
		if e.Turn && s.Closing { // it may have started, so it is stopped, not refused
			s.active[e.Job] = running
			return []SessionEffect{Begin{e.Job}}
		}
		s.hold(e.Job, e.Held)
		return s.useTurn(e.Job, e.Turn, s.enqueue(e.Job, math.MaxInt))
	case Unheld:
		delete(s.held, e.Job)
		return s.fill(nil)
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
		delete(s.held, e.Job)
		s.waiting = slices.DeleteFunc(s.waiting, func(j messages.JobID) bool { return j == e.Job })
		return s.fill(nil)
	case Closed:
		s.Closing = true
	}
	return nil
}

// useTurn starts a job that has a slot and would request one. It returns the slot of a job
// that has to wait; a refusal returns it by itself.
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
		return []SessionEffect{RequestSlot{job}} // a crash above may have lost the first request
	}
	if _, again := s.active[job]; again {
		return nil
	}
	if slices.Contains(s.waiting, job) { // it may be held no more
		return s.fill(nil)
	}
	switch {
	case s.Closing:
		return []SessionEffect{RefuseJob{job, messages.Error{
			Code: messages.SessionClosedCode, Message: "the session is closed", Hint: "open it again",
		}}}
	case len(s.active) >= s.Parallel && len(s.waiting) >= room:
		return []SessionEffect{RefuseJob{job, messages.Error{
			Code:    messages.QueueFull,
			Message: fmt.Sprintf("limit of the session reached: %d jobs run, %d are queued", len(s.active), len(s.waiting)),
			Hint:    "wait for one of them to end, or use another session",
		}}}
	}
	s.waiting = append(s.waiting, job)
	return s.fill(nil)
}

// fill requests slots for the oldest waiting jobs, up to Parallel active ones. Those that are held
// stay where they are.
func (s *Session) fill(todo []SessionEffect) []SessionEffect {
	for i := 0; i < len(s.waiting) && len(s.active) < s.Parallel; {
		job := s.waiting[i]
		if s.held[job] {
			i++
			continue
		}
		s.waiting = slices.Delete(s.waiting, i, i+1)
		s.active[job] = asking
		todo = append(todo, RequestSlot{job})
	}
	return todo
}

// hold notes whether a job is held.
func (s *Session) hold(job messages.JobID, held bool) {
	if held {
		s.held[job] = true
		return
	}
	delete(s.held, job)
}
