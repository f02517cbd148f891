package heap

import "testing"

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
