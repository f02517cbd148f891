package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
	"sync"
	"time"
)

// Defaults of the runtime: the smallest heap that is collected, and the growth above live bytes.
const (
	runtimeFloor   = 4 << 20 // bytes
	runtimePercent = 100     // percent of live bytes
)

// Floor is the floor of a process that holds a tree, in bytes. An idle one has some 4 MiB live
// and would otherwise collect every two hundred commands.
const Floor = 16 << 20

// Growth of a heap above its floor, in percent of live bytes. Four thousand idle terminals keep
// 23 MiB live, and as much garbage beside them is too much. During ten thousand starts,
// collections at each 15 % would take a third of troupe's processor time, to free memory a
// moment earlier.
const (
	BusyPercent = 25
	RestPercent = 15
)

// A process rests if it allocates no more than few bytes during quiet.
const (
	quiet = time.Second
	few   = 1 << 20 // bytes, as of a few commands; a command takes some 30 KiB
)

// Tune makes this process collect garbage only when its heap has reached floor bytes. Above
// that it may grow by BusyPercent of live bytes while it allocates much, else by RestPercent.
// When the process comes to rest, it returns unused memory to the system. Tune does nothing if
// GOGC is set or the percentage was changed before, as by an earlier call.
func Tune(floor uint64) {
	if os.Getenv("GOGC") != "" || read("/gc/gogc:percent") != runtimePercent {
		return
	}
	h := &tuner{floor: floor}
	h.tune(BusyPercent)
	h.again()
}

// read returns a metric of the runtime.
func read(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}

func alive() uint64     { return read("/gc/heap/live:bytes") }
func allocated() uint64 { return read("/gc/heap/allocs:bytes") } // since the start of the process

// mapped returns the bytes of system memory that the heap has.
func mapped() uint64 {
	return read("/memory/classes/heap/objects:bytes") + read("/memory/classes/heap/unused:bytes") + read("/memory/classes/heap/free:bytes")
}

// tuner sets the collections of this process.
type tuner struct {
	floor uint64

	mu      sync.Mutex
	set     int
	last    time.Time // time of the last collection
	timer   *time.Timer
	seen    uint64 // allocated() when the timer was set
	trimmed uint64 // allocated() when memory was last returned
}

// again calls collected after each collection.
func (h *tuner) again() {
	runtime.AddCleanup(&struct{ _ *byte }{}, func(h *tuner) {
		h.collected()
		h.again()
	}, h)
}

// collected sets the target of the next collection, and a timer in case none comes.
func (h *tuner) collected() {
	h.mu.Lock()
	defer h.mu.Unlock()
	now := time.Now()
	h.tune(percentAfter(now.Sub(h.last)))
	h.last = now
	h.watch()
}

// percentAfter returns the growth for a heap with the time since between two collections.
func percentAfter(since time.Duration) int {
	if since < quiet {
		return BusyPercent
	}
	return RestPercent
}

// watch sets the timer for the next look at the allocations. The caller holds mu.
func (h *tuner) watch() {
	h.seen = allocated()
	if h.timer == nil {
		h.timer = time.AfterFunc(quiet, h.look)
		return
	}
	h.timer.Reset(quiet)
}

// look returns memory if the process rests, and looks again later if it does not. After that
// it waits for the next collection.
func (h *tuner) look() {
	if h.rests() {
		debug.FreeOSMemory() // collects, which calls collected
	}
}

// rests reports whether the process rests and has memory to return.
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

// spare reports whether a collection may find enough garbage. The heap is above its floor then,
// and has allocated more since the last return than it may grow by.
func spare(floor, alive, mapped, since uint64) bool {
	return mapped > floor && since > alive*RestPercent/100
}

// tune sets the next collection to the floor, or to a percentage above live bytes. Each setting
// stops the world for a moment, so small changes are skipped.
func (h *tuner) tune(percent int) {
	percent = percentFor(h.floor, alive(), percent)
	if d := percent - h.set; d > h.set/8 || d < -h.set/8 {
		h.set = percent
		debug.SetGCPercent(percent)
	}
}

// percentFor returns the growth of live bytes in percent: up to the floor, at least percent.
func percentFor(floor, alive uint64, percent int) int {
	if alive <= runtimeFloor { // the runtime uses its own floor, which it scales by the percentage
		return max(percent, int(floor*100/runtimeFloor))
	}
	return max(percent, int(floor*100/alive)-100)
}
