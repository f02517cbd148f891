package omp

import (
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/dialects/dialecttest"
)

// faulty has a host refuse what a test says.
func faulty(h **dialecttest.Faults) with {
	return func(o *Options, _ *JobsOptions) {
		*h = dialecttest.Faulty(o.Host)
		o.Host = *h
	}
}

// A host that has too much to do to wait for a job has not lost it.
func TestR125_AWaitThatIsRefusedIsNoEnd(t *testing.T) {
	var h *dialecttest.Faults
	r := newRig(t, async, faulty(&h))
	h.Fail("Await", dialecttest.Busy, dialecttest.Busy)
	g := r.gate("g")
	r.bash(args{"command": g.wait() + "; (exit 3)", "async": true})
	g.open()
	require.Contains(t, (<-r.told).Text, "Command exited with code 3")
	require.Positive(t, h.Met("Await"))
}
