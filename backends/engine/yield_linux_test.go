package engine

import (
	"slices"
	"sync"
	"syscall"
	"testing"
)

// orderly notes the order of two calls.
type orderly struct {
	Sys
	mu    sync.Mutex
	calls []string
}

func (o *orderly) note(call string) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.calls = append(o.calls, call)
}

func (o *orderly) GiveWay() {
	o.note("way")
	o.Sys.GiveWay()
}

func (o *orderly) Fork(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	o.note("fork")
	return o.Sys.Fork(path, argv, attr)
}

// Threads that Go woke on the way to a fork go first, in whichever thread it is made.
func TestThreadsGoBeforeAFork(t *testing.T) {
	for name, umask := range map[string]int{"in its thread": -1, "in one of its own": 0o27} {
		t.Run(name, func(t *testing.T) {
			o := &orderly{Sys: kernel{}}
			r := newRig(t, func(opt *Options) { opt.Sys = o })
			for range 2 {
				spec := r.argv("/bin/true")
				spec.Umask = umask
				if x := r.start(spec).over(); x.Status.Code != 0 {
					t.Errorf("%+v", x)
				}
			}
			o.mu.Lock()
			defer o.mu.Unlock()
			if want := []string{"way", "fork", "way", "fork"}; !slices.Equal(o.calls, want) {
				t.Errorf("called %v, want %v", o.calls, want)
			}
		})
	}
}
