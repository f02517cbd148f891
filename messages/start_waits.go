package messages

import (
	"fmt"
	"strconv"
	"strings"
)

// StartWaits is what a queued job waits for before it asks for a start slot.
type StartWaits struct {
	After    []After `json:"after,omitzero" cbor:"1,keyasint,omitzero"`    // the ends of other jobs
	Locks    []Lock  `json:"locks,omitzero" cbor:"2,keyasint,omitzero"`    // held until its end
	Queue    string  `json:"queue,omitzero" cbor:"3,keyasint,omitzero"`    // a queue of the settings, of whose places it takes one; "": none
	Priority int     `json:"priority,omitzero" cbor:"4,keyasint,omitzero"` // among jobs that wait for the same: the highest first
}

// After is the end of another job. A job whose After cannot come true any more ends as
// FailedToStart.
type After struct {
	Job JobID    `json:"job" cbor:"1,keyasint,omitzero"` // an id or a name; the node replaces it by the ULID
	On  AfterEnd `json:"on,omitzero" cbor:"2,keyasint,omitzero"`
}

// AfterEnd is how that job must end.
type AfterEnd string

// The ends.
const (
	AfterOK   AfterEnd = "ok" // with exit code 0; the default
	AfterAny  AfterEnd = "any"
	AfterFail AfterEnd = "fail" // any other than ok
)

// Met reports whether the end of a job is the awaited one.
func (a AfterEnd) Met(end End) bool {
	ok := end.Outcome == Exited && end.Code != nil && *end.Code == 0
	return a == AfterAny || ok == (a != AfterFail)
}

// Lock is a lock of the host, which as many jobs may hold as it has places.
type Lock struct {
	Name   string `json:"name" cbor:"1,keyasint,omitzero"`
	Places int    `json:"places,omitzero" cbor:"2,keyasint,omitzero"` // of this lock, as this job sees it; 0: 1
}

// Bounds of what one job waits for.
const (
	MaxAfter        = 64
	MaxLocks        = 16
	MaxPlaces       = 1 << 20
	MaxPriority     = 1000 // and its negative
	MaxWaitsForJobs = 16   // jobs that WaitsFor names
)

// WaitsFor is one thing for which a queued job still waits.
type WaitsFor struct {
	Kind WaitKind `json:"kind"`
	Name string   `json:"name,omitzero"` // of a lock or a queue
	On   AfterEnd `json:"on,omitzero"`   // of after
	Jobs []JobID  `json:"jobs,omitzero"` // those that it waits for, that hold the lock or have the places, or come before it
}

// String returns it in a few words, with the jobs that have it.
func (w WaitsFor) String() string {
	var jobs []string
	for _, job := range w.Jobs {
		jobs = append(jobs, string(job))
	}
	text := strings.Join(jobs, ", ")
	switch {
	case w.Kind != WaitAfter:
		return fmt.Sprintf("%s %s (%s)", w.Kind, w.Name, text)
	case w.On != AfterOK:
		return text + ":" + string(w.On)
	}
	return text
}

// ParseAfter reads JOB[:ok|any|fail]. The end is checked with the request.
func ParseAfter(text string) After {
	job, on, _ := strings.Cut(text, ":")
	return After{Job: JobID(job), On: AfterEnd(on)}
}

// ParseLock reads NAME[:N]. The name is checked with the request.
func ParseLock(text string) (Lock, *Error) {
	name, places, many := strings.Cut(text, ":")
	if !many {
		return Lock{Name: name}, nil
	}
	n, err := strconv.Atoi(places)
	if err != nil || n < 1 {
		return Lock{}, Invalid("locks", fmt.Sprintf("the lock %s: write NAME, or NAME:N with a number of 1 or more", text))
	}
	return Lock{Name: name, Places: n}, nil
}

// WaitKind is a kind of thing to wait for.
type WaitKind string

// The kinds.
const (
	WaitAfter WaitKind = "after"
	WaitLock  WaitKind = "lock"
	WaitQueue WaitKind = "queue"
)

// Nothing reports whether the job waits for nothing. IsZero would be that of the requests that have it.
func (w StartWaits) Nothing() bool {
	return len(w.After) == 0 && len(w.Locks) == 0 && w.Queue == "" && w.Priority == 0
}

// check returns what is wrong, or nil.
func (w StartWaits) check() *Error {
	switch {
	case len(w.After) > MaxAfter:
		return Invalid("after", fmt.Sprintf("the job waits for %d others; at most %d are allowed", len(w.After), MaxAfter))
	case len(w.Locks) > MaxLocks:
		return Invalid("locks", fmt.Sprintf("the job needs %d locks; at most %d are allowed", len(w.Locks), MaxLocks))
	case w.Priority < -MaxPriority || w.Priority > MaxPriority:
		return Invalid("priority", fmt.Sprintf("the priority is %d; it must be from %d to %d", w.Priority, -MaxPriority, MaxPriority))
	case w.Priority != 0 && w.Queue == "" && len(w.Locks) == 0:
		return Invalid("priority", "a priority needs a lock or a queue, for which jobs wait in its order")
	case w.Queue != "" && !validName(w.Queue):
		return Invalid("queue", fmt.Sprintf("invalid queue %.80q: use up to 64 letters, digits, '.', '_' and '-' (not at the beginning)", w.Queue))
	}
	for _, a := range w.After {
		switch a.On {
		case "", AfterOK, AfterAny, AfterFail:
		default:
			return Invalid("after", fmt.Sprintf("after %s:%s: write ok, any or fail after the colon", a.Job, a.On))
		}
		if strings.TrimSpace(string(a.Job)) == "" {
			return Invalid("after", "after names no job")
		}
	}
	seen := map[string]bool{}
	for _, l := range w.Locks {
		switch {
		case !validName(l.Name):
			return Invalid("locks", fmt.Sprintf("invalid lock %.80q: use up to 64 letters, digits, '.', '_' and '-' (not at the beginning)", l.Name))
		case l.Places < 0 || l.Places > MaxPlaces:
			return Invalid("locks", fmt.Sprintf("lock %s has %d places; it must have from 1 to %d", l.Name, l.Places, MaxPlaces))
		case seen[l.Name]:
			return Invalid("locks", fmt.Sprintf("the lock %s is named twice", l.Name))
		}
		seen[l.Name] = true
	}
	return nil
}
