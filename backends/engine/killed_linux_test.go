package engine

import (
	"testing"

	"troupe/messages"
)

// A job that was killed leaves a cgroup in which the kernel would kill the next
// one at its birth: it exited by itself only if it got another.
func TestFaultAKilledCgroupKillsNobodyElse(t *testing.T) {
	r := newRig(t)
	for range 3 {
		e := r.start(r.spec("echo up; sleep 100"))
		e.grown(messages.Merged, 0)
		e.proc.Stop(messages.Cause{By: messages.ByClient}, 0)
		e.over()
		if next, x := r.run("echo alive"); x.Status != (messages.ExitStatus{}) || r.output(next, messages.Merged) != "alive\n" {
			t.Errorf("the next job: %v, %q", x.Status, r.output(next, messages.Merged))
		}
	}
}
