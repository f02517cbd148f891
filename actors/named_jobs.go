package actors

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"troupe/messages"
)

// At most one live job of a scope has a name. A name means the live job, else the newest that
// has ended (decision 043).

// find finds a job by id, by ULID, or by name. "SCOPE/NAME" means a job at or below a scope.
// A name that several live jobs have is refused with their ids.
func (s *supervisor) find(id messages.JobID) (*jobEntry, *messages.Error) {
	scope, name := messages.ScopePath(""), string(id)
	if i := strings.LastIndexByte(name, '/'); i > 0 {
		scope, name = messages.ScopePath(name[:i]), name[i+1:]
	}
	inside := func(e *jobEntry) bool { return scope == "" || scope.Contains(e.job.Scope) }
	e := s.jobs[messages.JobID(name)]
	if e == nil {
		e = s.byUID[messages.UID(strings.ToUpper(name))]
	}
	if e == nil {
		named, err := s.named(name, scope, inside)
		if err != nil {
			return nil, err
		}
		e = named
	}
	if e == nil || !inside(e) {
		return nil, messages.NoSuchJob(id)
	}
	return e, nil
}

// named finds a job by name; nil: none has it. A live job of the scope itself has precedence
// over those below it.
func (s *supervisor) named(name string, scope messages.ScopePath, inside func(*jobEntry) bool) (*jobEntry, *messages.Error) {
	var live []*jobEntry
	var ended *jobEntry
	for _, e := range s.byName[name] {
		switch {
		case !inside(e):
		case !e.job.State.Ended():
			live = append(live, e)
		case ended == nil || compareAge(e, ended) > 0:
			ended = e
		}
	}
	above := func(e *jobEntry) bool { return e.job.Scope == scope }
	if slices.ContainsFunc(live, above) {
		live = slices.DeleteFunc(live, func(e *jobEntry) bool { return !above(e) })
	}
	switch len(live) {
	case 0:
		return ended, nil
	case 1:
		return live[0], nil
	}
	return nil, &messages.Error{
		Code: messages.Conflict, Reason: "name", Message: fmt.Sprintf("%d live jobs have the name %s: %s", len(live), name, listJobs(live)),
		Hint: "give an id, or the scope with --scope",
	}
}

// compareAge compares the jobs by the time of their requests.
func compareAge(a, b *jobEntry) int {
	return cmp.Or(a.job.Created.Compare(b.job.Created), cmp.Compare(idNumber(a.job.ID), idNumber(b.job.ID)), cmp.Compare(a.job.UID, b.job.UID))
}

// listJobs lists jobs with their scopes, the oldest first.
func listJobs(jobs []*jobEntry) string {
	slices.SortFunc(jobs, compareAge)
	var names []string
	for _, e := range jobs[:min(len(jobs), maxNamed)] {
		names = append(names, fmt.Sprintf("%s (%s)", e.job.ID, e.job.Scope))
	}
	if len(jobs) > maxNamed {
		names = append(names, "…")
	}
	return strings.Join(names, ", ")
}

// holders returns the live jobs that have a name in a scope, or will after their hand-over. A
// restart can find several.
func (s *supervisor) holders(scope messages.ScopePath, name string) []*jobEntry {
	var live []*jobEntry
	for _, e := range s.byName[name] {
		if e.job.State.Ended() {
			continue
		}
		m, moving := s.handovers[e.job.ID]
		if e.job.Scope == scope || moving && m.to == scope {
			live = append(live, e)
		}
	}
	return live
}

// nameConflict is the kind of error that nameTaken returns.
var nameConflict = &messages.Error{Code: messages.Conflict, Reason: "name"}

// nameTaken returns the refusal of a name that live jobs have.
func nameTaken(name string, by []*jobEntry, hint string) *messages.Error {
	return &messages.Error{
		Code: messages.Conflict, Reason: "name", Message: fmt.Sprintf("the name %s is in use by live job %s", name, listJobs(by)), Hint: hint,
	}
}
