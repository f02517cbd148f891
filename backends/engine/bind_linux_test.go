package engine

import (
	"context"
	"errors"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"troupe/backends"
	"troupe/messages"
)

func (r *rig) adopt(id messages.UID) *ear {
	r.t.Helper()
	e := newEar(r.t)
	e.id = id
	p, err := r.e.Adopt(id, e.hear)
	if err != nil {
		r.t.Fatal(err)
	}
	e.proc = p
	return e
}

func (r *rig) inventory() map[messages.UID]backends.InventoryJob {
	r.t.Helper()
	held, err := r.e.Inventory(context.Background())
	if err != nil {
		r.t.Fatal(err)
	}
	m := make(map[messages.UID]backends.InventoryJob)
	for _, h := range held {
		m[h.ID] = h
	}
	return m
}

// A new owner hears the start, with its time, and every fact that is not
// settled; the former one hears nothing more.
func TestAdoptReplaysWhatIsNotSettled(t *testing.T) {
	r := newRig(t)
	first := r.up("echo up; sleep 100 & exit 3")
	started := await[messages.ProcessStarted](first)
	exited := await[messages.ProcessExited](first)
	second := r.adopt(first.id)
	if again := await[messages.ProcessStarted](second); again != started {
		t.Errorf("%+v, first %+v", again, started)
	}
	if again := await[messages.ProcessExited](second); again.Seq != exited.Seq || again.Status != exited.Status {
		t.Errorf("%+v, first %+v", again, exited)
	}
	second.proc.Settle(exited.Seq)
	third := r.adopt(first.id)
	await[messages.ProcessStarted](third)
	third.proc.Stop(client(), 0)
	end := await[messages.TreeEnded](third)
	await[messages.OutputClosed](third)
	if has[messages.ProcessExited](third) {
		t.Error("a settled fact was told again")
	}
	for _, e := range []*ear{first, second} {
		if has[messages.TreeEnded](e) {
			t.Errorf("a former owner heard: %s", words(e))
		}
	}
	if h, known := r.inventory()[first.id]; !known || h.Live {
		t.Errorf("over and not settled: %+v", h)
	}
	third.proc.Settle(end.Seq + 10)
	until(t, func() bool { return len(r.inventory()) == 0 })
	if _, err := r.e.Adopt(first.id, func(messages.ProcessFact) {}); !errors.Is(err, &messages.Error{Code: messages.NotFound}) {
		t.Errorf("the forgotten job: %v", err)
	}
}

// A job whose owner let go runs on, and what happened is told to the next.
func TestReleasedJobRunsOn(t *testing.T) {
	r := newRig(t)
	g := newGate(t)
	first := r.up("echo up; read x < " + g.path + "; echo more; exit 9")
	first.proc.Release()
	n := len(first.all())
	g.open()
	until(t, func() bool { return !r.inventory()[first.id].Live })
	if len(first.all()) != n {
		t.Errorf("it was told after its release: %s", words(first))
	}
	second := r.adopt(first.id)
	if x := second.over(); x.Status.Code != 9 {
		t.Errorf("%+v", x)
	}
	if words(second) != "ProcessStarted ProcessExited OutputClosed TreeEnded" {
		t.Errorf("facts: %s", words(second))
	}
	if r.output(second, messages.Merged) != "up\nmore\n" {
		t.Errorf("%q", r.output(second, messages.Merged))
	}
}

// No fact is told after Release has returned, whenever it is called.
func TestReleaseIsFinal(t *testing.T) {
	r := newRig(t)
	for range 50 {
		var mu sync.Mutex
		released := false
		s := r.argv("/bin/true")
		p := r.e.Start(s, func(f messages.ProcessFact) {
			mu.Lock()
			defer mu.Unlock()
			if released {
				t.Errorf("%T after the release", f)
			}
		})
		p.Release()
		mu.Lock()
		released = true
		mu.Unlock()
	}
	until(t, func() bool {
		for _, h := range r.inventory() {
			if h.Live {
				return false
			}
		}
		return true
	})
}

// An id that is known is joined: a job never runs twice.
func TestStartJoins(t *testing.T) {
	r := newRig(t)
	g := newGate(t)
	s := r.spec("echo once; read x < " + g.path)
	first := r.start(s)
	second := r.start(s)
	g.open()
	if x := second.over(); x.Sizes[0] != 5 {
		t.Errorf("%+v", x)
	}
	if r.output(second, messages.Merged) != "once\n" {
		t.Errorf("%q", r.output(second, messages.Merged))
	}
	if has[messages.TreeEnded](first) {
		t.Error("the first owner was told the end")
	}
	third := r.start(s)
	if x := third.over(); x.Sizes[0] != 5 {
		t.Errorf("%+v", x)
	}
}

func TestInventoryAndNotes(t *testing.T) {
	r := newRig(t)
	s := r.spec("echo up; sleep 100")
	s.Meta = []byte("first")
	e := r.start(s)
	e.grown(messages.Merged, 0)
	if h := r.inventory()[e.id]; !h.Live || string(h.Meta) != "first" {
		t.Errorf("%+v", h)
	}
	e.proc.SaveMeta([]byte("second"))
	if h := r.inventory()[e.id]; string(h.Meta) != "second" {
		t.Errorf("%+v", h)
	}
	e.proc.Stop(client(), 0)
	e.over()
	if h := r.inventory()[e.id]; h.Live {
		t.Errorf("%+v", h)
	}
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	if _, err := r.e.Inventory(ctx); err == nil {
		t.Error("an inventory for nobody")
	}
}

// Facts of one job come one at a time, whoever tells them.
func TestFactsAreSerial(t *testing.T) {
	r := newRig(t)
	for range 20 {
		var mu sync.Mutex
		done := make(chan struct{})
		var p backends.Process
		ready := make(chan struct{})
		p = r.e.Start(r.spec("seq 1 20000; echo err >&2"), func(f messages.ProcessFact) {
			if !mu.TryLock() {
				t.Error("two facts at once")
				return
			}
			defer mu.Unlock()
			<-ready
			switch f := f.(type) {
			case messages.OutputGrew:
				go p.NotifyGrowth(messages.Merged, f.Size)
			case messages.TreeEnded:
				close(done)
			}
		})
		close(ready)
		p.NotifyGrowth(messages.Merged, 0)
		select {
		case <-done:
		case <-time.After(patience):
			t.Fatal("it does not end")
		}
	}
}

// A fault of the listener is not the engine's.
func TestFaultListenerMayPanic(t *testing.T) {
	faults := make(chan error, 10)
	r := newRig(t, func(o *Options) {
		o.Fault = func(_ messages.UID, err error) { faults <- err }
	})
	g := newGate(t)
	e := newEar(t)
	e.proc = r.e.Start(r.spec("read x < "+g.path), func(f messages.ProcessFact) {
		e.hear(f)
		panic("no")
	})
	for i := range strings.Fields(wholeLife) {
		if err := within(t, faults); !strings.Contains(err.Error(), "fact handler") {
			t.Errorf("%v", err)
		}
		if i == 0 {
			g.open()
		}
	}
	if x := e.over(); !slices.Contains(x.Flags, messages.FlagKeeperFault) {
		t.Errorf("%+v", x)
	}
}

func TestJobsAreRefusedAfterClose(t *testing.T) {
	r := newRig(t)
	e := r.up("echo up; sleep 100")
	if left := r.e.Close(false); len(left) > 0 {
		t.Errorf("survivors: %+v", left)
	}
	if x := e.over(); x.Cause.By != messages.ByShutdown || x.Status.Signal != "KILL" {
		t.Errorf("%+v", x)
	}
	late := r.start(r.spec("echo late"))
	if f := await[messages.ProcessFailed](late); f.Err.Code != messages.ShuttingDown {
		t.Errorf("%+v", f)
	}
	e.proc.Stop(client(), 0)
	e.proc.Do(backends.Pause{})
	e.proc.NotifyGrowth(messages.Merged, 100)
	e.proc.Release()
	if left := r.e.Close(false); left != nil {
		t.Errorf("closed twice: %+v", left)
	}
}

// Jobs cannot be kept in this process: a close that asks for it ends them, and
// leaves nothing of the engine.
func TestACloseThatWouldKeepEndsThem(t *testing.T) {
	r := newRig(t)
	e := r.up("echo up; sleep 600")
	if r.e.CanKeep() {
		t.Error("it says that its jobs outlive this process")
	}
	if left := r.e.Close(true); len(left) > 0 {
		t.Errorf("survivors: %+v", left)
	}
	if x := e.over(); x.Cause.By != messages.ByShutdown || x.Status.Signal != "KILL" {
		t.Errorf("%+v", x)
	}
}
