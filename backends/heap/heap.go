// Package heap sets how eagerly a process that runs nothing but troupe looks for
// garbage. The runtime's own way, to let it grow to as much as is alive, is too eager
// for a process that has little alive and too lazy for one with thousands of jobs.
package heap

import (
	"os"
	"runtime"
	"runtime/debug"
	"runtime/metrics"
)

// By how much the runtime itself lets a heap outgrow what is alive, and to what at least.
const (
	runtimeFloor   = 4 << 20
	runtimePercent = 100
)

// Floor and Percent are for a process that holds a tree. One that rests has some 4 MiB
// alive, and would collect every two hundred commands. Of four thousand idle terminals
// 23 MiB are alive, and as much garbage beside them is too much (docs/decisions/033, 035).
const (
	Floor   = 16 << 20
	Percent = 15
)

// Tend has this process collect garbage only when its heap has grown to floor bytes;
// above that it may grow by percent of what is alive. Where somebody has decided
// otherwise, by GOGC or as an earlier call does, nothing is changed.
func Tend(floor uint64, percent int) {
	if os.Getenv("GOGC") != "" || read("/gc/gogc:percent") != runtimePercent {
		return
	}
	h := &heap{floor: floor, percent: percent}
	h.tune()
	h.again()
}

// read gives a metric of the runtime.
func read(name string) uint64 {
	sample := []metrics.Sample{{Name: name}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
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
	percent := percentFor(h.floor, read("/gc/heap/live:bytes"), h.percent)
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
