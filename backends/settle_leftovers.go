package backends

import (
	"sync"
	"time"

	"troupe/messages"
)

// remainsPatience is how long the facts of a job that is over are waited for.
const remainsPatience = 10 * time.Second

// SettleLeftovers has an engine forget jobs that are over and of which nobody waits for
// anything: who was to say so died before the engine had heard it. It is not waited for.
func SettleLeftovers(e Engine, jobs []InventoryJob) {
	if len(jobs) == 0 {
		return
	}
	go func() {
		for _, h := range jobs {
			settleRemains(e, h)
		}
	}()
}

func settleRemains(e Engine, h InventoryJob) {
	w := &finalFact{over: make(chan uint64, 1), number: h.Last}
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

// finalFact waits for the last fact of a job. Some before it may have been settled: they
// are not told again.
type finalFact struct {
	over   chan uint64 // its number
	number uint64      // that, if it is known

	mu     sync.Mutex
	ending EndTracker
	said   bool
}

func (w *finalFact) hear(fact messages.ProcessFact) {
	w.mu.Lock()
	defer w.mu.Unlock()
	over := w.ending.Hear(fact) || w.number > 0 && w.ending.Last >= w.number
	if over && !w.said {
		w.said = true
		w.over <- w.ending.Last
	}
}
