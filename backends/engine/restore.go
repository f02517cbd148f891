package engine

import (
	"troupe/messages"
)

// Restored is an ended job of a dead engine with facts that are not settled.
type Restored struct {
	ID      messages.UID
	Meta    []byte
	Started *messages.ProcessStarted // nil: unknown
	// Facts follow the start for a new owner: ProcessExited, OutputClosed and TreeEnded, or
	// ProcessLost. A fact without a number gets the next.
	Facts []messages.ProcessFact
}

// Restore adds a job of a dead engine, which can be adopted and settled as if it had
// ended here. The caller knows that none of its processes is left. A known ID is
// unchanged.
func (e *Local) Restore(r Restored) {
	j := &job{engine: e, id: r.ID, meta: r.Meta, proc: mainProcess{e: e, pidfd: -1}}
	j.credits.job = j
	j.phase, j.cleaned, j.treeGone = phaseDone, true, true
	j.toldMain, j.toldExited, j.toldClosed, j.toldEnded = true, true, true, true
	j.started = r.Started
	for _, f := range r.Facts {
		seq, f := e.number(f)
		j.unsettled = append(j.unsettled, sequencedFact{seq, f})
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.jobs[r.ID] == nil {
		e.jobs[r.ID] = j
	}
}

// number returns a fact with its number, or the next if it has none.
func (e *Local) number(f messages.ProcessFact) (uint64, messages.ProcessFact) {
	next := func(seq *uint64) uint64 {
		if *seq == 0 {
			*seq = e.seq.Add(1)
		}
		return *seq
	}
	switch f := f.(type) {
	case messages.ProcessExited:
		return next(&f.Seq), f
	case messages.ProcessLost:
		return next(&f.Seq), f
	case messages.OutputClosed:
		return next(&f.Seq), f
	case messages.TreeEnded:
		return next(&f.Seq), f
	}
	return 0, f
}
