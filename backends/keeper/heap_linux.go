package keeper

import (
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// runtimeFloor is what the runtime itself lets a heap grow to, at GOGC=100.
const runtimeFloor = 4 << 20

// floorHeap has this process collect garbage only when its heap has grown to floor
// bytes; above that percent holds, as GOGC does. A keeper that has little alive
// collects every few dozen commands otherwise.
func floorHeap(floor uint64, percent int) {
	h := &heap{floor: floor, percent: percent}
	h.tune()
	h.again()
}

// heap is what the collections of this process are set by.
type heap struct {
	floor   uint64
	percent int
	set     int
}

// again calls tune behind each collection.
func (h *heap) again() {
	runtime.AddCleanup(&struct{ _ *byte }{}, func(h *heap) {
		h.tune()
		h.again()
	}, h)
}

// tune sets what makes the next collection begin at the floor. Setting it stops the
// world for a moment, and so small changes are none.
func (h *heap) tune() {
	alive := []metrics.Sample{{Name: "/gc/heap/live:bytes"}}
	metrics.Read(alive)
	percent := percentFor(h.floor, alive[0].Value.Uint64(), h.percent)
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
