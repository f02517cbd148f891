package backends

import (
	"sync"
	"time"

	"troupe/messages"
)

// leftoverTimeout bounds the wait for the facts of a finished job.
const leftoverTimeout = 10 * time.Second

// SettleLeftovers settles finished jobs that an engine still has, because the former node died
// before it settled them. It returns at once.
func SettleLeftovers(e Engine, jobs []InventoryJob) {
	if len(jobs) == 0 {
		return
	}
	go func() {
		for _, h := range jobs {
			settleLeftover(e, h)
		}
	}()
}

func settleLeftover(e Engine, h InventoryJob) {
	w := &finalFact{over: make(chan uint64, 1), number: h.Last}
	proc, err := e.Adopt(h.ID, w.receive)
	if err != nil {
		return // the engine has removed it
	}
	late := time.NewTimer(leftoverTimeout)
	defer late.Stop()
	select {
	case last := <-w.over:
		proc.Settle(last)
	case <-late.C: // the next node tries again
	}
	proc.Release()
}

// finalFact waits for the last fact of a job. Settled facts before it are not replayed.
type finalFact struct {
	over   chan uint64 // receives the number of the last fact
	number uint64      // that number, if known; 0: unknown

	mu     sync.Mutex
	ending EndTracker
	said   bool
}

func (w *finalFact) receive(fact messages.ProcessFact) {
	w.mu.Lock()
	defer w.mu.Unlock()
	over := w.ending.Hear(fact) || w.number > 0 && w.ending.Last >= w.number
	if over && !w.said {
		w.said = true
		w.over <- w.ending.Last
	}
}
