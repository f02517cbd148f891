package actors

import (
	"runtime"
	"testing"
	"weak"

	"troupe/backends"
)

// released is a process of which nothing is asked but that it is let go.
type released struct {
	backends.Process
	times int
}

func (r *released) Release() { r.times++ }

// The library keeps some actors that have ended: they hold neither the job nor its engine.
func TestAnEndedCommandHoldsNothing(t *testing.T) {
	proc := &released{}
	held := weak.Make(proc)
	c := &command{proc: proc}
	c.abandon(nil)
	if proc.times != 1 {
		t.Errorf("the process was let go %d times, want once", proc.times)
	}
	proc = nil
	runtime.GC()
	if held.Value() != nil {
		t.Error("it holds its process")
	}
	runtime.KeepAlive(c)
}
