package backends

import "troupe/messages"

// EndTracker follows the facts of one job until the job is over. Its zero value has seen none.
// One goroutine at a time may use it.
type EndTracker struct {
	// Last is the number of the newest final fact, for Process.Settle.
	Last uint64

	exited, closed, ended bool
}

// Hear takes a fact and reports whether the job is over.
func (e *EndTracker) Hear(fact messages.ProcessFact) (over bool) {
	switch f := fact.(type) {
	case messages.ProcessFailed:
		e.all(f.Seq)
	case messages.ProcessLost:
		e.all(f.Seq)
	case messages.ProcessExited:
		if e.exited, e.Last = true, max(e.Last, f.Seq); f.Last > 0 { // no fact follows it
			e.all(f.Last)
		}
	case messages.OutputClosed:
		e.closed, e.Last = true, max(e.Last, f.Seq)
	case messages.TreeEnded:
		e.ended, e.Last = true, max(e.Last, f.Seq)
	}
	return e.exited && e.closed && e.ended
}

// all records the last fact of a job.
func (e *EndTracker) all(seq uint64) {
	e.exited, e.closed, e.ended, e.Last = true, true, true, max(e.Last, seq)
}
