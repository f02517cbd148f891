package lifecycle

import (
	"fmt"
	"slices"

	"troupe/messages"
)

// Admission decides when jobs may start. At most Slots jobs start at a time. Slots go
// round-robin over the scopes, so that a scope with a thousand jobs delays another by one
// start. Most bounds the unstarted jobs.
type Admission struct {
	Slots int
	Most  int

	paused    bool // no slots are granted
	unstarted map[messages.JobID]messages.ScopePath
	starting  map[messages.JobID]bool                 // jobs with a slot
	wanting   map[messages.ScopePath][]messages.JobID // jobs that asked for a slot, in order
	ring      []messages.ScopePath                    // the scopes in wanting, next first
}

// NewAdmission returns an admission with slots start slots, at least 1, for at most most
// unstarted jobs.
func NewAdmission(slots, most int) Admission {
	return Admission{
		Slots: max(slots, 1), Most: most,
		unstarted: map[messages.JobID]messages.ScopePath{},
		starting:  map[messages.JobID]bool{},
		wanting:   map[messages.ScopePath][]messages.JobID{},
	}
}

// Admit adds a new job, or returns Busy if there are Most.
func (a *Admission) Admit(job messages.JobID, scope messages.ScopePath) *messages.Error {
	if len(a.unstarted) >= a.Most {
		return &messages.Error{
			Code:    messages.Busy,
			Message: fmt.Sprintf("limit of %d unstarted jobs reached", a.Most),
			Hint:    "try again when some have started, or set limits.unstarted higher",
		}
	}
	a.unstarted[job] = scope
	return nil
}

// Readmit adds a job that was admitted before and is placed again. It never refuses.
func (a *Admission) Readmit(job messages.JobID, scope messages.ScopePath) {
	a.unstarted[job] = scope
}

// Request queues a job that could start for a slot. It returns the jobs that may start now.
func (a *Admission) Request(job messages.JobID) []messages.JobID {
	scope, ok := a.unstarted[job]
	if !ok || a.starting[job] || slices.Contains(a.wanting[scope], job) {
		return nil
	}
	if len(a.wanting[scope]) == 0 {
		a.ring = append(a.ring, scope)
	}
	a.wanting[scope] = append(a.wanting[scope], job)
	return a.grant()
}

// TryAcquire gives a new job a slot if one is free and no other job waits for it. Release
// returns the slot.
func (a *Admission) TryAcquire(job messages.JobID) bool {
	if _, ok := a.unstarted[job]; !ok || a.paused || len(a.ring) > 0 || len(a.starting) >= a.Slots {
		return false
	}
	a.starting[job] = true
	return true
}

// Release removes a job that has started, has ended or no longer needs its slot. It may be
// called again. It returns the jobs that may start now.
func (a *Admission) Release(job messages.JobID) []messages.JobID {
	scope, ok := a.unstarted[job]
	if !ok {
		return nil
	}
	delete(a.unstarted, job)
	delete(a.starting, job)
	if line := a.wanting[scope]; slices.Contains(line, job) {
		a.setLine(scope, slices.DeleteFunc(line, func(j messages.JobID) bool { return j == job }))
	}
	return a.grant()
}

// Pause stops or resumes the granting of slots. It returns the jobs that may start now.
func (a *Admission) Pause(paused bool) []messages.JobID {
	a.paused = paused
	return a.grant()
}

func (a *Admission) grant() []messages.JobID {
	var granted []messages.JobID
	for !a.paused && len(a.starting) < a.Slots && len(a.ring) > 0 {
		scope := a.ring[0]
		a.ring = a.ring[1:]
		line := a.wanting[scope]
		job := line[0]
		a.starting[job] = true
		granted = append(granted, job)
		if len(line) > 1 {
			a.wanting[scope] = line[1:]
			a.ring = append(a.ring, scope)
		} else {
			delete(a.wanting, scope)
		}
	}
	return granted
}

func (a *Admission) setLine(scope messages.ScopePath, line []messages.JobID) {
	if len(line) > 0 {
		a.wanting[scope] = line
		return
	}
	delete(a.wanting, scope)
	a.ring = slices.DeleteFunc(a.ring, func(s messages.ScopePath) bool { return s == scope })
}
