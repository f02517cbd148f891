package heap

import (
	"runtime"
	"runtime/debug"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
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

func TestPercentAfter(t *testing.T) {
	for since, want := range map[time.Duration]int{
		0: BusyPercent, 300 * time.Millisecond: BusyPercent, quiet: RestPercent, time.Hour: RestPercent,
	} {
		if got := percentAfter(since); got != want {
			t.Errorf("collected again after %v: %d, want %d", since, got, want)
		}
	}
}

func TestSpare(t *testing.T) {
	const mib = 1 << 20
	for _, c := range []struct {
		name                        string
		floor, alive, mapped, since uint64
		want                        bool
	}{
		{"a burst is over", 16 * mib, 20 * mib, 40 * mib, 100 * mib, true},
		{"below the floor", 16 * mib, 4 * mib, 16 * mib, 100 * mib, false},
		{"just given back, and full of holes", 16 * mib, 20 * mib, 40 * mib, mib, false},
		{"no less than it may grow by", 16 * mib, 20 * mib, 24 * mib, 3*mib + 1, true},
	} {
		if got := spare(c.floor, c.alive, c.mapped, c.since); got != c.want {
			t.Errorf("%s: %v, want %v", c.name, got, c.want)
		}
	}
}

// A process that has nothing to do any more gives back what it does not need, and
// nothing looks at it then.
func TestRestGivesBack(t *testing.T) {
	defer debug.FreeOSMemory() // for the next test
	defer debug.SetGCPercent(debug.SetGCPercent(runtimePercent))
	h := &tuner{floor: 4 << 20}
	h.collected()
	kept, burst := pieces(256), pieces(1024)
	full := mapped()
	clear(burst)
	h.look()
	require.Greater(t, mapped(), full/2, "it does not rest yet")
	require.Eventually(t, func() bool { return mapped() < full/2 }, time.Minute, quiet/20, "of 80 MiB 16 are alive")
	h.mu.Lock() // a tuner of another test may have set the process's own since
	defer h.mu.Unlock()
	require.Equal(t, percentFor(h.floor, alive(), RestPercent), h.set)
	runtime.KeepAlive(kept)
}

func pieces(n int) [][]byte {
	all := make([][]byte, n)
	for i := range all {
		all[i] = make([]byte, 64<<10)
	}
	return all
}

// Whoever has decided is left alone; nobody has where the runtime goes by its own.
func TestTendChangesNoDecision(t *testing.T) {
	t.Setenv("GOGC", "")
	before := int(read("/gc/gogc:percent"))
	defer debug.SetGCPercent(before)

	debug.SetGCPercent(77)
	Tune(16 << 20)
	if got := read("/gc/gogc:percent"); got != 77 {
		t.Errorf("a percentage of 77 became %d", got)
	}
	debug.SetGCPercent(runtimePercent)
	t.Setenv("GOGC", "100")
	Tune(16 << 20)
	if got := read("/gc/gogc:percent"); got != runtimePercent {
		t.Errorf("GOGC=100 became %d", got)
	}
	t.Setenv("GOGC", "")
	Tune(16 << 20)
	if got := read("/gc/gogc:percent"); got != 400 {
		t.Errorf("a small heap has %d, want 400", got)
	}
}
