package engine

import (
	"sync/atomic"
	"testing"
	"time"

	"troupe/messages"
)

// Jobs without grace are killed by a few, in turn, and all come down.
func TestManyStopsWithoutGrace(t *testing.T) {
	var held atomic.Bool
	var stopping atomic.Int32
	goOn := make(chan struct{})
	r := newRig(t, func(o *Options) {
		o.Failpoint = func(name string) error {
			if name == pointStop && held.Load() {
				stopping.Add(1)
				<-goOn
			}
			return nil
		}
	})
	var all []*ear
	for range 3 * stopsAtOnce {
		all = append(all, r.up("echo up; trap '' TERM; sleep 100 & sleep 100"))
	}
	held.Store(true)
	for _, e := range all {
		e.proc.Stop(messages.Cause{By: messages.ByClient, Reason: "test"}, 0)
	}
	if r.e.Features().Isolation == messages.InCgroup { // else a kill takes more than one call
		until(t, func() bool { return stopping.Load() == stopsAtOnce })
		if waiting, busy := r.e.enders.standing(); waiting != 2*stopsAtOnce || busy != stopsAtOnce {
			t.Errorf("%d wait and %d are being killed", waiting, busy)
		}
	}
	close(goOn)
	for _, e := range all {
		if x := e.over(); x.Status.Signal != "KILL" || x.Cause.Signal != "KILL" || len(x.Survivors) > 0 {
			t.Errorf("%+v", x)
		}
	}
	until(t, func() bool {
		waiting, busy := r.e.enders.standing()
		return waiting+busy == 0
	})
}

func (d *killPool) standing() (waiting, busy int) {
	d.mu.Lock()
	defer d.mu.Unlock()
	return len(d.queue), d.busy
}

// Who gives way goes on when few killed trees are left, when it has waited long enough,
// and at the end of the engine.
func TestGiveWay(t *testing.T) {
	for name, end := range map[string]func(*Local){
		"calm":   func(e *Local) { e.enders.countKilled(-1) },
		"engine": func(e *Local) { close(e.done) },
	} {
		t.Run(name, func(t *testing.T) {
			e := &Local{done: make(chan struct{})}
			e.enders.e = e
			e.enders.countKilled(fewKilled)
			e.enders.giveWay(patience) // nobody to give way to
			e.enders.countKilled(1)
			e.enders.giveWay(time.Nanosecond)
			gone := make(chan struct{})
			go func() {
				e.enders.giveWay(patience)
				close(gone)
			}()
			until(t, func() bool {
				e.enders.mu.Lock()
				defer e.enders.mu.Unlock()
				return e.enders.calm != nil
			})
			end(e)
			within(t, gone)
		})
	}
}
