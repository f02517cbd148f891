package heap

import (
	"runtime/debug"
	"testing"
)

func TestPercentFor(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		floor, alive uint64
		percent      int
		want         int
	}{
		{16 * mib, 0, 100, 400},          // nothing was collected yet
		{16 * mib, 2 * mib, 100, 400},    // the runtime's own floor grows with it
		{16 * mib, 5 * mib, 100, 220},    // to 16 MiB
		{16 * mib, 8 * mib, 100, 100},    // which is double
		{16 * mib, 200 * mib, 100, 100},  // far above it
		{8 * mib, 1 * mib, 50, 200},      // a keeper at rest
		{8 * mib, 64 * mib, 50, 50},      // and with ten thousand jobs
		{2 * mib, 1 * mib, 100, 100},     // a floor below the runtime's is none
		{16 * mib, 1000 * mib, 100, 100}, // no underflow
	} {
		if got := percentFor(c.floor, c.alive, c.percent); got != c.want {
			t.Errorf("percentFor(%d, %d, %d) = %d, want %d", c.floor, c.alive, c.percent, got, c.want)
		}
	}
}

// Whoever has decided is left alone; nobody has where the runtime goes by its own.
func TestTendChangesNoDecision(t *testing.T) {
	t.Setenv("GOGC", "")
	before := int(read("/gc/gogc:percent"))
	defer debug.SetGCPercent(before)

	debug.SetGCPercent(77)
	Tend(16<<20, 25)
	if got := read("/gc/gogc:percent"); got != 77 {
		t.Errorf("a percentage of 77 became %d", got)
	}
	debug.SetGCPercent(runtimePercent)
	t.Setenv("GOGC", "100")
	Tend(16<<20, 25)
	if got := read("/gc/gogc:percent"); got != runtimePercent {
		t.Errorf("GOGC=100 became %d", got)
	}
	t.Setenv("GOGC", "")
	Tend(16<<20, 25)
	if got := read("/gc/gogc:percent"); got != 400 {
		t.Errorf("a small heap has %d, want 400", got)
	}
}
