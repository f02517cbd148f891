package engine

import (
	"sync/atomic"
	"testing"

	"troupe/messages"
)

// helpers count who is among them. Whoever joins or leaves may be kept for long,
// and must hold nothing that others need: the engine is asked for all that it has.
type helpers struct {
	r     *rig
	in    atomic.Int32
	joins atomic.Int32
	less  atomic.Bool // there were ever less than none
}

func (h *helpers) Join() {
	h.ask()
	h.joins.Add(1)
	h.in.Add(1)
}

func (h *helpers) Leave() {
	h.ask()
	if h.in.Add(-1) < 0 {
		h.less.Store(true)
	}
}

// ask takes the locks of the engine, of its jobs and of their streams.
func (h *helpers) ask() {
	for _, j := range h.r.e.all() {
		j.mu.Lock()
		streams := j.streams
		j.mu.Unlock()
		for _, s := range streams {
			s.moved()
		}
		j.credits.sizes()
		j.settle(0)
	}
}

// Whoever tells the start or the result of a job has joined the workers before,
// leaves them after, and holds no lock meanwhile.
func TestWhoTellsHelpsTheWorkers(t *testing.T) {
	h := &helpers{}
	r := newRig(t, func(o *Options) { o.Workers = h })
	h.r = r
	const jobs = 30
	var started, exited atomic.Int32
	for range jobs {
		s := r.spec("read x; echo hi")
		s.Stdio.Stdin = messages.StdinPipe
		e := newEar(t)
		e.id = s.ID
		e.proc = r.e.Start(s, func(f messages.ProcessFact) {
			switch f.(type) {
			case messages.ProcessStarted:
				started.Add(min(1, h.in.Load()))
			case messages.ProcessExited:
				exited.Add(min(1, h.in.Load()))
			}
			e.hear(f)
		})
		await[messages.ProcessStarted](e)
		e.nod()
		e.over()
	}
	// The last result may have been told by another, who had something to tell at the moment.
	until(t, func() bool { return h.joins.Load() >= 2*jobs && h.in.Load() == 0 })
	if n := h.joins.Load(); h.less.Load() {
		t.Errorf("%d joined for the starts and results of %d jobs; more left than joined: %v", n, jobs, h.less.Load())
	}
	// Another goroutine of the engine may have had something to tell at the moment.
	if started.Load() != jobs || exited.Load() == 0 {
		t.Errorf("of %d jobs %d starts and %d results were told by who helps", jobs, started.Load(), exited.Load())
	}
}
