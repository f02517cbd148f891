package node_test

import (
	"os"
	"runtime"
	"runtime/metrics"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/actors"
	"troupe/backends/heap"
	"troupe/internal/test/conformance"
)

// A process that is troupe's alone collects its garbage by what is alive in it; a
// library's host decides that for itself.
func TestAnOwnProcessCollectsByWhatIsAlive(t *testing.T) {
	if os.Getenv(hostVar) == "" { // how it is done is the whole process's
		conformance.Subprocess{
			Args: []string{"-test.run=^" + t.Name() + "$"}, Env: []string{hostVar + "=" + t.Name(), "GOGC="}, Passes: []string{t.Name()},
		}.Run(t)
		return
	}
	require.EqualValues(t, 100, gcPercent())
	node, _ := host{}.open(t, actors.Limits{})
	shut(t, node)
	require.EqualValues(t, 100, gcPercent(), "as a library")
	node, _ = host{own: true}.open(t, actors.Limits{})
	shut(t, node)
	require.Greater(t, gcPercent(), uint64(100), "with little alive")
	alive := make([]byte, 64<<20)
	for range 100 { // what follows from a collection is done beside it
		if runtime.GC(); gcPercent() == heap.BusyPercent {
			break
		}
	}
	require.EqualValues(t, heap.BusyPercent, gcPercent(), "with much alive")
	runtime.KeepAlive(alive)
}

func gcPercent() uint64 {
	sample := []metrics.Sample{{Name: "/gc/gogc:percent"}}
	metrics.Read(sample)
	return sample[0].Value.Uint64()
}
