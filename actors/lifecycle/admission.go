package lifecycle

import (
	"fmt"
	"slices"

	"troupe/messages"
)

// Admission decides when jobs may start: at most Slots starts at a time, in
// turns over the scopes that want one, so that a scope with a thousand jobs
// delays another's first by one start. Unstarted jobs are bounded by Most.
type Admission struct {
	Slots int
	Most  int

	held      bool // nobody is given a turn
	unstarted map[messages.JobID]messages.ScopePath
	starting  map[messages.JobID]bool
	wanting   map[messages.ScopePath][]messages.JobID
	ring      []messages.ScopePath // the scopes that want a turn, next first
}

// NewAdmission admits slots starts at a time and most unstarted jobs.
func NewAdmission(slots, most int) Admission {
	return Admission{
		Slots: max(slots, 1), Most: most,
		unstarted: map[messages.JobID]messages.ScopePath{},
		starting:  map[messages.JobID]bool{},
		wanting:   map[messages.ScopePath][]messages.JobID{},
	}
}

// Admit takes a new job in, or says that the node is busy.
func (a *Admission) Admit(job messages.JobID, scope messages.ScopePath) *messages.Error {
	if len(a.unstarted) >= a.Most {
		return &messages.Error{
			Code:    messages.Busy,
			Message: fmt.Sprintf("%d commands wait to be started, which is all the node takes", len(a.unstarted)),
			Hint:    "try again when some have started",
		}
	}
	a.unstarted[job] = scope
	return nil
}

// Readmit takes in a job that was admitted before and has to be placed anew: it
// is never refused.
func (a *Admission) Readmit(job messages.JobID, scope messages.ScopePath) {
	a.unstarted[job] = scope
}

// Request puts a job that could start in its scope's line, and returns the jobs
// that may start now.
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

// TryAcquire gives a new job its turn at once, if one is free and nobody waits for it.
// It is Done, as any other, or Again if it cannot be used yet.
func (a *Admission) TryAcquire(job messages.JobID) bool {
	if _, ok := a.unstarted[job]; !ok || a.held || len(a.ring) > 0 || len(a.starting) >= a.Slots {
		return false
	}
	a.starting[job] = true
	return true
}

// Release says that a job has started, ended or needs its turn no more. It may be
// said again. It returns the jobs that may start now.
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

// Pause keeps all turns back, or gives them again: it returns the jobs that may
// start now.
func (a *Admission) Pause(held bool) []messages.JobID {
	a.held = held
	return a.grant()
}

func (a *Admission) grant() []messages.JobID {
	var granted []messages.JobID
	for !a.held && len(a.starting) < a.Slots && len(a.ring) > 0 {
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
