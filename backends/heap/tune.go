// Package heap sets how eagerly a process that runs nothing but troupe looks for
// garbage. The runtime's own way, to let it grow to as much as is alive, is too eager
// for a process that has little alive and too lazy for one with thousands of jobs that
// do nothing; while thousands start or end it is right (docs/decisions/033, 036).
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// By how much the runtime itself lets a heap outgrow what is alive, and to what at least.
const (
	runtimeFloor   = 4 << 20
	runtimePercent = 100
)

// Floor is for a process that holds a tree. One that rests has some 4 MiB alive, and
// would collect every two hundred commands.
const Floor = 16 << 20

// By how much a heap above its floor may outgrow what is alive. Of four thousand idle
// terminals 23 MiB are alive, and as much garbage beside them is too much. While ten
// thousand jobs start, a collection for each 15 % takes a third of what we use of the
// processors, for memory that nobody else could have had for more than a moment.
const (
	BusyPercent = 25
	RestPercent = 15
)

// A process rests when, for as long as quiet, it allocates no more than a few commands a
// second do.
const (
	quiet = time.Second
	few   = 1 << 20 // bytes; a command takes some 30 KiB
)

// Tune has this process collect garbage only when its heap has grown to floor bytes;
// above that it may grow by BusyPercent of what is alive while it allocates much, and
// by RestPercent else. When it comes to rest, what it does not need goes back to the
// system. Where somebody has decided otherwise, by GOGC or as an earlier call does,
// nothing is changed.
func Tune(floor uint64) {
	if os.Getenv("GOGC") != "" || read("/gc/gogc:percent") != runtimePercent {
		return
	}
	h := &tuner{floor: floor}
	h.tune(BusyPercent)
	h.again()
}

// read gives a metric of the runtime.
func read(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func alive() uint64     { return read("/gc/heap/live:bytes") }
func allocated() uint64 { return read("/gc/heap/allocs:bytes") } // ever

// mapped is what the heap has of the system's memory.
func mapped() uint64 {
	return read("/memory/classes/heap/objects:bytes") + read("/memory/classes/heap/unused:bytes") + read("/memory/classes/heap/free:bytes")
}

// tuner is what the collections of this process are set by.
type tuner struct {
	floor uint64

	mu      sync.Mutex
	set     int
	last    time.Time // of the collections
	timer   *time.Timer
	seen    uint64 // what was allocated when the timer was set
	trimmed uint64 // and when memory was given back
}

// again calls collected behind each collection.
func (h *tuner) again() {
	runtime.AddCleanup(&struct{ _ *byte }{}, func(h *tuner) {
		h.collected()
		h.again()
	}, h)
}

// collected sets what the next collection waits for, and looks whether none comes.
func (h *tuner) collected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	h.tune(percentAfter(now.Sub(h.last)))
	h.last = now
	h.watch()
}

// percentAfter is by how much a heap may grow that was collected twice with so much
// time between.
func percentAfter(since time.Duration) int {
	if since < quiet {
		return BusyPercent
	}
	return RestPercent
}

// watch looks in a while how much was allocated since. Called with mu.
func (h *tuner) watch() {
	h.seen = allocated()
	if h.timer == nil {
		h.timer = time.AfterFunc(quiet, h.look)
		return
	}
	h.timer.Reset(quiet)
}

// look gives memory back if the process rests, and looks again later if it does not.
// Nothing looks at a process that rests, until its next collection.
func (h *tuner) look() {
	if h.rests() {
		debug.FreeOSMemory() // it collects, which calls us
	}
}

// rests reports whether there is something to give back.
func (h *tuner) rests() bool {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := allocated()
	if now-h.seen > few {
		h.watch()
		return false
	}
	h.tune(RestPercent)
	if !spare(h.floor, alive(), mapped(), now-h.trimmed) {
		return false
	}
	h.trimmed = now
	return true
}

// spare reports whether enough may be garbage to look for it: the heap is above its
// floor, and since the last time more was allocated than it may grow by.
func spare(floor, alive, mapped, since uint64) bool {
	return mapped > floor && since > alive*RestPercent/100
}

// tune sets what makes the next collection begin at the floor, or a percentage above
// what is alive. Setting it stops the world for a moment, and so small changes are
// none.
func (h *tuner) tune(percent int) {
	percent = percentFor(h.floor, alive(), percent)
	if d := percent - h.set; d > h.set/8 || d < -h.set/8 {
		h.set = percent
		debug.SetGCPercent(percent)
	}
}

// percentFor is the percentage by which what is alive may grow: to the floor, or by
// percent at least.
func percentFor(floor, alive uint64, percent int) int {
	if alive <= runtimeFloor { // the runtime goes by its own, which grows with the percentage
		return max(percent, int(floor*100/runtimeFloor))
	}
	return max(percent, int(floor*100/alive)-100)
}
