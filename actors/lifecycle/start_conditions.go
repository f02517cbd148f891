package lifecycle

import (
	"cmp"
	"fmt"
	"maps"
	"slices"

	"troupe/messages"
)

// StartConditions decides when queued jobs may ask for a start slot: when other jobs have ended,
// and locks and a place in a queue are free. A job gets all that it needs at once, so that no two
// jobs wait for each other. Scopes take turns; within a scope the order is that of the requests,
// the highest priority first. A job does not overtake one before it that needs the same.
type StartConditions struct {
	Queues map[string]int // places of the named queues

	waiting map[messages.JobID]*conditioned
	holders map[resource][]messages.JobID
	holding map[messages.JobID][]resource
	served  map[messages.ScopePath]int // when a scope was served last
	arrived int
	turn    int
}

// resource is a lock or a queue.
type resource struct {
	queue bool
	name  string
}

// conditioned is a job that waits.
type conditioned struct {
	id      messages.JobID
	scope   messages.ScopePath
	waits   messages.StartWaits
	left    []messages.After // not met yet
	failed  *messages.Error  // why it can never start; nil: it may
	arrival int
}

// ConditionEffect is what the supervisor does about a job that waits.
type ConditionEffect struct {
	Job messages.JobID
	Err *messages.Error // why it can never start; nil: it may start
}

// NewStartConditions returns conditions with these queues.
func NewStartConditions(queues map[string]int) StartConditions {
	return StartConditions{
		Queues: queues, waiting: map[messages.JobID]*conditioned{}, holders: map[resource][]messages.JobID{},
		holding: map[messages.JobID][]resource{}, served: map[messages.ScopePath]int{},
	}
}

// Check returns why a job cannot have these conditions, or nil.
func (c *StartConditions) Check(w messages.StartWaits) *messages.Error {
	if _, known := c.Queues[w.Queue]; w.Queue == "" || known {
		return nil
	}
	err := messages.Invalid("queue", fmt.Sprintf("there is no queue %s", w.Queue))
	err.Hint = fmt.Sprintf("write [queues.%s] and parallel = 1 into the configuration file, and restart the daemon", w.Queue)
	if all := slices.Sorted(maps.Keys(c.Queues)); len(all) > 0 {
		err.Hint = fmt.Sprintf("the settings have %v", all)
	}
	return err
}

// Add adds a job that is to start. left are those of its waits.After whose jobs have not ended.
// failed is why it can never start; nil: it may.
func (c *StartConditions) Add(job messages.JobID, scope messages.ScopePath, w messages.StartWaits, left []messages.After, failed *messages.Error) []ConditionEffect {
	c.arrived++
	c.waiting[job] = &conditioned{id: job, scope: scope, waits: w, left: left, failed: failed, arrival: c.arrived}
	return c.settle()
}

// Hold takes over a job that has started already, after a restart.
func (c *StartConditions) Hold(job messages.JobID, w messages.StartWaits) { c.take(job, w) }

// Waits reports whether a job waits, and why it can never start; nil: it may.
func (c *StartConditions) Waits(job messages.JobID) (bool, *messages.Error) {
	w := c.waiting[job]
	if w == nil {
		return false, nil
	}
	return true, w.failed
}

// Ended takes the end of a job, which others may wait for and which frees what it holds.
func (c *StartConditions) Ended(job messages.JobID, uid messages.UID, end messages.End) (todo []ConditionEffect) {
	delete(c.waiting, job)
	for _, r := range c.holding[job] {
		c.holders[r] = slices.DeleteFunc(c.holders[r], func(h messages.JobID) bool { return h == job })
		if len(c.holders[r]) == 0 {
			delete(c.holders, r)
		}
	}
	delete(c.holding, job)
	if len(c.waiting) == 0 {
		clear(c.served)
		return nil
	}
	for _, w := range c.inOrder() {
		for _, a := range w.left {
			if a.Job == messages.JobID(uid) && !a.On.Met(end) && w.failed == nil {
				w.failed = NotMet(a.On, job, end)
				todo = append(todo, ConditionEffect{w.id, w.failed})
			}
		}
		w.left = slices.DeleteFunc(w.left, func(a messages.After) bool { return a.Job == messages.JobID(uid) })
	}
	return append(todo, c.settle()...)
}

// NotMet returns the error of a job that waited for another end of a job.
func NotMet(on messages.AfterEnd, job messages.JobID, end messages.End) *messages.Error {
	how := map[messages.Outcome]string{
		messages.Signaled: "ended by signal " + end.Signal, messages.TimedOut: "timed out", messages.Cancelled: "was stopped", messages.FailedToStart: "failed to start", messages.Lost: "was lost",
	}[end.Outcome]
	if end.Outcome == messages.Exited && end.Code != nil {
		how = fmt.Sprintf("exited %d", *end.Code)
	}
	was := "succeeded"
	if on == messages.AfterFail {
		was = "failed"
	}
	return &messages.Error{
		Code: messages.Refused, Reason: "after", Message: fmt.Sprintf("it was to start if job %s %s, but that %s", job, was, how),
		Hint: "run it again without that condition, or with :any",
	}
}

// For returns what a job still waits for. order is that of all jobs that wait, and idOf returns the
// id of the job with a ULID.
func (c *StartConditions) For(job messages.JobID, order []messages.JobID, idOf func(messages.JobID) messages.JobID) (all []messages.WaitsFor) {
	w := c.waiting[job]
	if w == nil || w.failed != nil {
		return nil
	}
	for _, a := range w.left {
		all = append(all, messages.WaitsFor{Kind: messages.WaitAfter, On: cmp.Or(a.On, messages.AfterOK), Jobs: []messages.JobID{idOf(a.Job)}})
	}
	for _, need := range c.needs(w.waits) {
		before := slices.Clone(c.holders[need.resource])
		if len(before) < need.places {
			before = nil
		}
		for _, id := range order {
			other := c.waiting[id]
			if other == w || len(before) >= messages.MaxWaitsForJobs {
				break
			}
			if len(w.left) == 0 && len(other.left) == 0 && other.failed == nil && other.needs(need.resource) {
				before = append(before, id)
			}
		}
		if len(before) == 0 {
			continue
		}
		kind := messages.WaitLock
		if need.queue {
			kind = messages.WaitQueue
		}
		all = append(all, messages.WaitsFor{Kind: kind, Name: need.name, Jobs: before})
	}
	return all
}

// Order returns the jobs that wait, in the order in which they are served.
func (c *StartConditions) Order() (ids []messages.JobID) {
	for _, w := range c.inOrder() {
		ids = append(ids, w.id)
	}
	return ids
}

// LeadsTo reports whether a job with these conditions would wait for a job that waits for it. Each
// job on the way is looked at once.
func (c *StartConditions) LeadsTo(w messages.StartWaits, caller messages.JobID, uid messages.UID, idOf func(messages.JobID) messages.JobID) bool {
	seen := map[messages.JobID]bool{}
	for todo := []messages.StartWaits{w}; len(todo) > 0; todo = todo[1:] {
		for _, n := range c.needs(todo[0]) {
			if n.places == 1 && slices.Contains(c.holders[n.resource], caller) {
				return true
			}
		}
		for _, a := range todo[0].After {
			if a.Job == messages.JobID(uid) {
				return true
			}
			if other := c.waiting[idOf(a.Job)]; other != nil && !seen[other.id] {
				seen[other.id] = true
				todo = append(todo, messages.StartWaits{After: other.left, Locks: other.waits.Locks, Queue: other.waits.Queue})
			}
		}
	}
	return false
}

func (w *conditioned) needs(r resource) bool {
	if r.queue {
		return w.waits.Queue == r.name
	}
	return slices.ContainsFunc(w.waits.Locks, func(l messages.Lock) bool { return l.Name == r.name })
}

// need is a resource, and how many may hold it.
type need struct {
	resource
	places int
}

func (c *StartConditions) needs(w messages.StartWaits) (all []need) {
	for _, l := range w.Locks {
		all = append(all, need{resource{name: l.Name}, max(l.Places, 1)})
	}
	if w.Queue != "" {
		all = append(all, need{resource{queue: true, name: w.Queue}, max(c.Queues[w.Queue], 1)})
	}
	return all
}

// inOrder returns the jobs that wait, in the order in which they are served.
func (c *StartConditions) inOrder() []*conditioned {
	return slices.SortedFunc(maps.Values(c.waiting), func(a, b *conditioned) int {
		return cmp.Or(
			cmp.Compare(b.waits.Priority, a.waits.Priority), cmp.Compare(c.served[a.scope], c.served[b.scope]), cmp.Compare(a.arrival, b.arrival),
		)
	})
}

// settle lets jobs start that wait for nothing any more.
func (c *StartConditions) settle() (todo []ConditionEffect) {
	claimed := map[resource]int{} // by jobs before
	for again := true; again; {
		again = false
		clear(claimed)
		for _, w := range c.inOrder() {
			if len(w.left) > 0 || w.failed != nil {
				continue
			}
			needs, free := c.needs(w.waits), true
			for _, n := range needs {
				free = free && len(c.holders[n.resource])+claimed[n.resource] < n.places
			}
			if !free {
				for _, n := range needs {
					claimed[n.resource]++
				}
				continue
			}
			delete(c.waiting, w.id)
			todo = append(todo, ConditionEffect{Job: w.id})
			if len(needs) > 0 { // the turn goes to another scope
				c.take(w.id, w.waits)
				c.turn++
				c.served[w.scope] = c.turn
				again = true
				break
			}
		}
	}
	return todo
}

func (c *StartConditions) take(job messages.JobID, w messages.StartWaits) {
	for _, n := range c.needs(w) {
		c.holders[n.resource] = append(c.holders[n.resource], job)
		c.holding[job] = append(c.holding[job], n.resource)
	}
}
