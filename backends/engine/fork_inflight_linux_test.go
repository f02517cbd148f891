package engine

import (
	"testing"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/internal/test/need"
	"troupe/messages"
	"troupe/spill"
)

// dupSys keeps a copy of the job's end of each pipe, as a child does that is
// between its fork and its exec.
type dupSys struct {
	Sys
	dups chan int
}

func (s dupSys) Pipe() (r, w int, err error) {
	if r, w, err = s.Sys.Pipe(); err == nil {
		dup, _ := unix.FcntlInt(uintptr(w), unix.F_DUPFD_CLOEXEC, 0)
		s.dups <- dup
	}
	return r, w, err
}

// heldFork is an engine one of whose forks does not reach its exec: it holds every
// pipe until end is called.
type heldFork struct {
	*rig
	dups   chan int
	ticket uint64
}

func newHeldFork(t *testing.T) *heldFork {
	f := &heldFork{dups: make(chan int, 16)}
	f.rig = newRig(t, func(o *Options) { o.Sys = dupSys{kernel{}, f.dups} })
	t.Cleanup(f.end)
	h := f.e.host
	need.Feature(t, h.orphans == nil || h.cgroups != nil, "trees that are counted without a look at our children")
	f.ticket = h.forks.enter()
	return f
}

// awaited waits until somebody waits for the fork.
func (f *heldFork) awaited() {
	f.t.Helper()
	forks := f.e.host.forks
	until(f.t, func() bool {
		forks.mu.Lock()
		defer forks.mu.Unlock()
		return forks.over != nil
	})
}

// end may be called again.
func (f *heldFork) end() {
	for range len(f.dups) { // the engine has looked at a pipe of its own, too
		_ = unix.Close(<-f.dups)
	}
	f.e.host.forks.leave(f.ticket)
}

// A result waits for our forks that hold its output, and is the whole truth then.
func TestFaultAForkHoldsTheOutput(t *testing.T) {
	r := newHeldFork(t)
	e := r.start(r.argv("/bin/true"))
	r.awaited()
	await[messages.MainExited](e) // another thread may deliver it
	if has[messages.ProcessExited](e) {
		t.Errorf("a fork holds the output, and it said %s", words(e))
	}
	r.end()
	if x := e.over(); x.OutputOpen || x.Children != 0 {
		t.Errorf("%+v", x)
	}
}

// What takes time is looked at, too: the log of a job that said much, or that is
// synced. Nobody else looks at it while capture is paused.
func TestFaultAForkHoldsALargeOutput(t *testing.T) {
	for name, d := range map[string]spill.Durability{"large": spill.Memory, "synced": spill.FsyncOnExit} {
		t.Run(name, func(t *testing.T) {
			r := newHeldFork(t)
			s := r.spec("head -c 1500000 /dev/zero; read x")
			s.Stdio.Stdin, s.Log.Durability = messages.StdinPipe, d
			e := r.start(s)
			e.grown(messages.Merged, 1_499_999)
			e.proc.Do(backends.Pause{})
			e.nod()
			r.awaited()
			r.end()
			if x := e.over(); x.OutputOpen || x.Sizes[0] != 1_500_000 {
				t.Errorf("%+v", x)
			}
		})
	}
}

// An exec that hangs does not hold the results of other jobs for good.
func TestFaultAForkHangs(t *testing.T) {
	r := newHeldFork(t)
	e := r.start(r.argv("/bin/true"))
	if x := await[messages.ProcessExited](e); !x.OutputOpen || x.Children != 0 {
		t.Errorf("%+v", x)
	}
	r.end()
	e.over()
}
