package main

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// The state directory has no room for the output of a live job beside those of finished ones:
// the oldest of these goes, and the job is not blocked. Its record shows what is gone.
func TestFaultLiveJobTakesTheRoomOfFinishedOnes(t *testing.T) {
	t.Parallel()
	state := mounted(t, 32<<20)
	t.Cleanup(func() { endKeeper(state) })
	d := serves(t, []string{"TROUPE_STATE=" + state})
	for _, name := range []string{"first", "second"} {
		d.beside("run", "-b", "--name", name, "seq 1 1000000").start().ends(0) // 6.6 MiB
		d.beside("wait", name).start().ends(0)
	}
	d.beside("run", "-b", "--name", "live", "seq 1 1500000").start().ends(0) // 10.2 MiB
	d.beside("wait", "live").start().ends(0)
	q := d.beside("show", "--json", "live").start()
	require.Contains(t, q.rest(), `"flags":[]`)
	for name, n := range map[string]int{"second": 1_000_000, "live": 1_500_000} {
		var want strings.Builder
		sequence(&want, n)
		q := d.beside("logs", name).start()
		require.True(t, q.rest() == want.String(), "the output of %s has other bytes", name)
		q.ends(0)
	}
	q = d.beside("logs", "first").start()
	require.Empty(t, q.rest())
	q.err.has(t, "is no longer kept")
	q = d.beside("show", "--json", "first").start()
	require.Contains(t, q.rest(), `"bytes":6888896,`)
}
