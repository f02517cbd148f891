package engine

import (
	"syscall"
	"testing"
)

// orderly notes the order of two calls.
type orderly struct {
	Sys
	calls chan string
}

func (o orderly) SchedYield() {
	o.calls <- "way"
	o.Sys.SchedYield()
}

func (o orderly) Fork(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	o.calls <- "fork"
	return o.Sys.Fork(path, argv, attr)
}

// Threads that Go woke on the way to a fork go first, in whichever thread it is made.
func TestThreadsGoBeforeAFork(t *testing.T) {
	for name, umask := range map[string]int{"in its thread": -1, "in one of its own": 0o27} {
		t.Run(name, func(t *testing.T) {
			o := orderly{kernel{}, make(chan string, 16)}
			r := newRig(t, func(opt *Options) { opt.Sys = o })
			for range 2 {
				spec := r.argv("/bin/true")
				spec.Umask = umask
				if x := r.start(spec).over(); x.Status.Code != 0 {
					t.Errorf("%+v", x)
				}
			}
			close(o.calls) // both are over, and nothing else forks here
			var got string
			for call := range o.calls {
				got += call + " "
			}
			if want := "way fork way fork "; got != want {
				t.Errorf("called %q, want %q", got, want)
			}
		})
	}
}
