package backends

import (
	"sync"
	"time"

	"troupe/messages"
)

// remainsPatience is how long the facts of a job that is over are waited for.
const remainsPatience = 10 * time.Second

// SettleRemains has an engine forget jobs that are over and of which nobody waits for
// anything: who was to say so died before the engine had heard it. It is not waited for.
func SettleRemains(e Engine, jobs []Held) {
	if len(jobs) == 0 {
		return
	}
	go func() {
		for _, h := range jobs {
			settleRemains(e, h)
		}
	}()
}

func settleRemains(e Engine, h Held) {
	w := &lastWord{over: make(chan uint64, 1), number: h.Last}
	proc, err := e.Adopt(h.ID, w.hear)
	if err != nil {
		return // it has heard so
	}
	late := time.NewTimer(remainsPatience)
	defer late.Stop()
	select {
	case last := <-w.over:
		proc.Settle(last)
	case <-late.C: // the next one tries again
	}
	proc.Release()
}

// lastWord waits for the last fact of a job. Some before it may have been settled: they
// are not told again.
type lastWord struct {
	over   chan uint64 // its number
	number uint64      // that, if it is known

	mu                          sync.Mutex
	last                        uint64
	exited, closed, ended, said bool
}

func (w *lastWord) hear(fact messages.ProcessFact) {
	w.mu.Lock()
	defer w.mu.Unlock()
	switch f := fact.(type) {
	case messages.ProcessFailed:
		w.all(f.Seq)
	case messages.ProcessLost:
		w.all(f.Seq)
	case messages.ProcessExited:
		w.exited, w.last = true, max(w.last, f.Seq)
		if f.Last > 0 {
			w.all(f.Last)
		}
	case messages.OutputClosed:
		w.closed, w.last = true, max(w.last, f.Seq)
	case messages.TreeEnded:
		w.ended, w.last = true, max(w.last, f.Seq)
	}
	if (w.exited && w.closed && w.ended || w.number > 0 && w.last >= w.number) && !w.said {
		w.said = true
		w.over <- w.last
	}
}

// all is the last fact of a job, and the only one of its end.
func (w *lastWord) all(seq uint64) {
	w.exited, w.closed, w.ended, w.last = true, true, true, max(w.last, seq)
}
