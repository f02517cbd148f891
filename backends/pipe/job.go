package pipe

import (
	"troupe/backends"
	"troupe/messages"
)

// job is the backend's state of a job, until the engine forgets it. The backend's lock guards
// it.
type job struct {
	id       messages.UID
	backend  *Backend
	executor *executor       // nil: no executor stops it
	owner    *trackedProcess // nil: no owner receives its facts
	keep     bool            // its children outlive the executor
	exited   bool
	closed   bool   // its output is closed
	ended    bool   // its tree has ended
	last     uint64 // number of its newest fact
}

// trackedProcess is the engine's process for one owner; the backend sees its facts first.
type trackedProcess struct {
	backends.Process // nil until the engine has returned it
	job              *job
	facts            backends.FactHandler // nil: only the backend sees them
}

// bind makes facts those of the job's owner. The caller holds the lock.
func (j *job) bind(facts backends.FactHandler) *trackedProcess {
	h := &trackedProcess{job: j, facts: facts}
	j.owner = h
	return h
}

// setProcess sets the engine's process. If the executor was closed meanwhile, it stops the job.
func (h *trackedProcess) setProcess(proc backends.Process) {
	j := h.job
	j.backend.mu.Lock()
	h.Process = proc
	late := j.executor != nil && j.executor.closing
	j.backend.mu.Unlock()
	if late {
		j.end()
	}
}

// deliver passes a fact to the owner. The backend notes it before, because the owner may call
// Settle at once. The executor learns of the end afterwards. The owner may release the job after
// a result that says that nothing of it is left: no fact follows then.
func (h *trackedProcess) deliver(fact messages.ProcessFact) {
	h.job.note(fact)
	if h.facts != nil {
		h.facts(fact)
	}
	switch f := fact.(type) {
	case messages.ProcessFailed:
		h.job.leaveExecutor(nil)
	case messages.ProcessLost:
		h.job.leaveExecutor(f.Survivors)
	case messages.ProcessExited:
		if f.Last > 0 {
			h.job.leaveExecutor(f.Survivors)
		}
	case messages.TreeEnded:
		h.job.leaveExecutor(f.Survivors)
	}
}

func (j *job) note(fact messages.ProcessFact) {
	j.backend.mu.Lock()
	defer j.backend.mu.Unlock()
	switch f := fact.(type) {
	case messages.ProcessExited:
		j.exited, j.last = true, max(j.last, f.Seq, f.Last)
		j.closed, j.ended = j.closed || f.Last > 0, j.ended || f.Last > 0
	case messages.ProcessFailed:
		j.closed, j.ended, j.last = true, true, max(j.last, f.Seq)
	case messages.ProcessLost:
		j.exited, j.closed, j.ended, j.last = true, true, true, max(j.last, f.Seq)
	case messages.OutputClosed:
		j.closed, j.last = true, max(j.last, f.Seq)
	case messages.TreeEnded:
		j.ended, j.last = true, max(j.last, f.Seq)
	}
}

// Settle implements backends.Process. The backend forgets a job together with the engine.
func (h *trackedProcess) Settle(seq uint64) {
	h.Process.Settle(seq)
	j := h.job
	j.backend.mu.Lock()
	defer j.backend.mu.Unlock()
	if j.ended && j.closed && seq >= j.last {
		delete(j.backend.jobs, j.id)
	}
}

// Release implements backends.Process. An executor that is closing takes over the facts, since
// it waits for the end.
func (h *trackedProcess) Release() {
	h.Process.Release()
	j := h.job
	j.backend.mu.Lock()
	if j.owner == h {
		j.owner = nil
	}
	orphan := j.owner == nil && j.executor != nil && j.executor.closing
	j.backend.mu.Unlock()
	if orphan {
		j.end()
	}
}

// end stops a job for its executor, which receives the facts if no owner does.
func (j *job) end() {
	b := j.backend
	b.mu.Lock()
	h, p := j.owner, j.executor
	switch {
	case p == nil: // it has ended, or belongs to another executor
		b.mu.Unlock()
	case h == nil:
		h = j.bind(nil)
		b.mu.Unlock()
		proc, err := b.engine.Adopt(j.id, h.deliver)
		if err != nil {
			j.forget() // nothing of it is left
			return
		}
		h.setProcess(proc)
	case h.Process == nil: // setProcess stops the job
		b.mu.Unlock()
	default:
		proc, grace := h.Process, p.grace
		b.mu.Unlock()
		proc.Stop(messages.Cause{By: messages.ByScope, Reason: "its session was closed"}, grace)
	}
}

// leaveExecutor removes a job from its executor: only survivors are left of it.
func (j *job) leaveExecutor(left []messages.Survivor) {
	j.backend.mu.Lock()
	defer j.backend.mu.Unlock()
	p := j.executor
	if p == nil {
		return
	}
	j.executor = nil
	delete(p.jobs, j.id)
	if p.closing {
		p.survivors = append(p.survivors, left...)
	}
	p.finish()
}

// forget removes a job that the engine does not know.
func (j *job) forget() {
	j.backend.mu.Lock()
	delete(j.backend.jobs, j.id)
	j.backend.mu.Unlock()
	j.leaveExecutor(nil)
}
