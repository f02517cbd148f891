package pipe

import (
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// job is what the backend knows of a job, as long as the engine may know it.
// Its state is guarded by the lock of the backend.
type job struct {
	id      messages.UID
	backend *Backend
	place   *executor       // nil: no place ends it
	owner   *trackedProcess // nil: nobody hears its facts
	keep    bool            // its children survive the place
	exited  bool
	closed  bool   // its output
	ended   bool   // its tree
	last    uint64 // number of its newest fact
}

// trackedProcess is one owner's process: the engine's, overheard.
type trackedProcess struct {
	backends.Process // nil until the engine has answered
	job              *job
	facts            backends.FactHandler // nil: only overheard
}

// bind makes facts those of the job's owner. The lock is held.
func (j *job) bind(facts backends.FactHandler) *trackedProcess {
	h := &trackedProcess{job: j, facts: facts}
	j.owner = h
	return h
}

// is takes the engine's answer. A place that was closed in the meantime ends
// the job now.
func (h *trackedProcess) is(proc backends.Process) {
	j := h.job
	j.backend.mu.Lock()
	h.Process = proc
	late := j.place != nil && j.place.closing
	j.backend.mu.Unlock()
	if late {
		j.end()
	}
}

// tell passes a fact on. What the owner may answer with Settle is noted before;
// the place hears of the end after it. An owner may let go as soon as it was told
// that nothing is left behind the result: no more is heard then.
func (h *trackedProcess) tell(fact messages.ProcessFact) {
	h.job.note(fact)
	if h.facts != nil {
		h.facts(fact)
	}
	switch f := fact.(type) {
	case messages.ProcessFailed:
		h.job.leave(nil)
	case messages.ProcessLost:
		h.job.leave(f.Survivors)
	case messages.ProcessExited:
		if f.Last > 0 {
			h.job.leave(f.Survivors)
		}
	case messages.TreeEnded:
		h.job.leave(f.Survivors)
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

// Settle implements backends.Process. What the engine forgets is forgotten here.
func (h *trackedProcess) Settle(seq uint64) {
	h.Process.Settle(seq)
	j := h.job
	j.backend.mu.Lock()
	defer j.backend.mu.Unlock()
	if j.ended && j.closed && seq >= j.last {
		delete(j.backend.jobs, j.id)
	}
}

// Release implements backends.Process. A place that is being closed goes on
// listening, since it waits for the end.
func (h *trackedProcess) Release() {
	h.Process.Release()
	j := h.job
	j.backend.mu.Lock()
	if j.owner == h {
		j.owner = nil
	}
	orphan := j.owner == nil && j.place != nil && j.place.closing
	j.backend.mu.Unlock()
	if orphan {
		j.end()
	}
}

// end stops a job for its place; if nobody hears its facts, the place does.
func (j *job) end() {
	b := j.backend
	b.mu.Lock()
	h, p := j.owner, j.place
	switch {
	case p == nil: // it has ended, or was given away
		b.mu.Unlock()
	case h == nil:
		h = j.bind(nil)
		b.mu.Unlock()
		proc, err := b.engine.Adopt(j.id, h.tell)
		if err != nil {
			j.lost() // nothing of it is left
			return
		}
		h.is(proc)
	case h.Process == nil: // the engine is about to answer
		b.mu.Unlock()
	default:
		proc, grace := h.Process, p.grace
		b.mu.Unlock()
		proc.Stop(messages.Cause{By: messages.ByScope, Reason: "its session was closed"}, grace)
	}
}

// leave takes a job from its place: nothing is left of it but the survivors.
func (j *job) leave(left []messages.Survivor) {
	j.backend.mu.Lock()
	defer j.backend.mu.Unlock()
	p := j.place
	if p == nil {
		return
	}
	j.place = nil
	delete(p.jobs, j.id)
	if p.closing {
		p.survivors = append(p.survivors, left...)
	}
	p.finish()
}

// lost forgets a job that the engine does not know.
func (j *job) lost() {
	j.backend.mu.Lock()
	delete(j.backend.jobs, j.id)
	j.backend.mu.Unlock()
	j.leave(nil)
}

// failedStart is a process that could not even be tried.
func failedStart(facts backends.FactHandler, err messages.Error) backends.Process {
	go facts(messages.ProcessFailed{Err: err, Shell: cannotRun, At: time.Now()})
	return unstartedProcess{}
}

// cannotRun is a shell's status for a command that is there and cannot run.
const cannotRun = 126

// unstartedProcess does nothing, whatever it is asked: there is no process.
type unstartedProcess struct{}

func (unstartedProcess) Output(messages.Stream) (spill.Log, error) {
	return nil, &messages.Error{Code: messages.OutputUnavailable, Message: "the job was never started: it has no output"}
}
func (unstartedProcess) Do(backends.Control)                 {}
func (unstartedProcess) Stop(messages.Cause, time.Duration)  {}
func (unstartedProcess) NotifyGrowth(messages.Stream, int64) {}
func (unstartedProcess) SaveMeta([]byte)                     {}
func (unstartedProcess) Settle(uint64)                       {}
func (unstartedProcess) Release()                            {}
