package engine

import (
	"testing"
	"time"

	"golang.org/x/sys/unix"
)

// The descriptors that goroutines of the engine use are closed behind the last of
// them: the number may be another's then.
func TestCloseKeepsDescriptorsForWhoRuns(t *testing.T) {
	r := newRig(t)
	hold := make(chan struct{})
	r.e.background(func() { <-hold }) // as the janitor, or who tells a result
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		r.e.Close(false)
	}()
	until(t, func() bool {
		r.e.work.mu.Lock()
		defer r.e.work.mu.Unlock()
		return r.e.work.free != nil
	})
	used := []int{r.e.host.null}
	if c := r.e.host.cgroups; c != nil {
		used = append(used, c.base, c.parent)
	}
	for _, fd := range used {
		if _, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err != nil {
			t.Errorf("descriptor %d is closed: %v", fd, err)
		}
	}
	close(hold)
	within(t, closed)
}

// A rest is over when few jobs are left of those that made the look dear.
func TestWalkerRestsNoLongerThanThereAreMany(t *testing.T) {
	r := newRig(t)
	h := &platform{engine: r.e, sys: kernel{}, self: r.e.host.self} // one that looks, in every mode
	h.reaper = &reaper{platform: h, inflightForks: newForks(), roots: make(map[int]*job)}
	h.orphans = newOrphanScanner(h)
	e := r.up("echo up; sleep 100")
	j := r.e.find(e.id)
	const many = 2 * restFor
	for n := range many {
		h.reaper.add(1<<30+n, j)
	}
	h.orphans.pace.saved, h.orphans.pace.since = -time.Hour, time.Now()
	ask := func() <-chan struct{} {
		seen := make(chan struct{})
		h.orphans.ask(j, func([]proc) { close(seen) })
		return seen
	}
	within(t, ask())
	again := ask()
	for n := range many - many/restFor - 1 {
		h.reaper.remove(1<<30+n, j)
	}
	select {
	case <-again:
		t.Error("it does not rest while many live")
	case <-time.After(20 * time.Millisecond): // it would come at once
	}
	h.reaper.remove(1<<30+many-1, j)
	within(t, again)
	e.proc.Stop(client(), 0)
	e.over()
}

// Looks at the process table keep the distance that they cost themselves, whatever
// is done about what was seen.
func TestWalkerRestsForItsLooksOnly(t *testing.T) {
	r := newRig(t)
	h := &platform{engine: r.e, sys: kernel{}, self: r.e.host.self} // one that looks, in every mode
	h.reaper = &reaper{platform: h, inflightForks: newForks(), roots: make(map[int]*job)}
	w, e := newOrphanScanner(h), r.up("echo up; sleep 100")
	const busy = 2 * time.Second // a look takes long, too, on a busy machine
	told := make(chan struct{})
	w.ask(r.e.find(e.id), func([]proc) {
		<-time.After(busy)
		close(told)
	})
	within(t, told)
	began, again := time.Now(), make(chan struct{})
	w.ask(r.e.find(e.id), func([]proc) { close(again) })
	within(t, again)
	if took := time.Since(began); took > (scanShare-1)*busy/2 {
		t.Errorf("the next look came after %v", took)
	}

	tired, rested := newOrphanScanner(h), make(chan struct{})
	tired.pace.saved, tired.pace.since = -time.Hour, time.Now()
	seen := make(chan struct{})
	tired.ask(r.e.find(e.id), func([]proc) { close(seen) })
	within(t, seen)
	tired.ask(r.e.find(e.id), func([]proc) { close(rested) })
	select {
	case <-rested:
		t.Error("a look that has cost an hour is followed by no rest")
	case <-time.After(20 * time.Millisecond): // it would come at once
	}
	e.proc.Stop(client(), 0)
	e.over()
}

// The bound of an end is that of all jobs together.
func TestAwaitIsBoundedForEachJob(t *testing.T) {
	r := newRig(t)
	expired, over := make(chan struct{}), make(chan struct{})
	go func() {
		for range 2 {
			(&job{engine: r.e, escalation: &escalation{done: make(chan struct{})}}).await(expired)
		}
		close(over)
	}()
	close(expired)
	within(t, over)
}
