package engine

import (
	"os"
	"testing"

	"troupe/internal/test/conformance"
	"troupe/internal/test/need"
	"troupe/messages"
)

// holdsVar says in which way the engine of a run in some mode must hold its
// jobs.
const holdsVar = "TROUPE_ENGINE_HOLDS"

// costly are tests that are as good in one mode as in all: the modes differ in
// how trees are found and ended, not in how bytes are moved.
const costly = "^TestModes$|^TestFaultFlood|^TestFaultFullStore|^TestFaultTerminalFlood"

// The tests of the other modes run in processes of their own.
func TestModes(t *testing.T) {
	if os.Getenv(modeVar) != "" {
		return // this is one of them
	}
	for _, c := range []struct {
		name, mode string
		ordinary   bool // not root
		cgroup     bool
		holds      messages.Isolation
	}{
		{"library without cgroups", "library nocgroup", false, false, messages.Group},
		{"own", "own", false, true, messages.InCgroup},
		{"own with forks apart", "own apart", false, true, messages.InCgroup},
		{"own without cgroups", "own nocgroup", false, false, messages.Subreaper},
		{"library of an ordinary user", "library", true, false, messages.Group},
		{"own of an ordinary user", "own", true, false, messages.Subreaper},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.cgroup {
				need.Cgroup(t)
			}
			if c.ordinary {
				need.Root(t)
			}
			t.Parallel()
			run := conformance.Subprocess{
				Env:      []string{modeVar + "=" + c.mode, holdsVar + "=" + string(c.holds), driverVar + "=" + posixDriver()},
				Ordinary: c.ordinary, Passes: []string{"TestModeHolds", "TestFaultHostileTreeEnds"},
			}
			if !need.Soak() {
				run.Args = []string{"-test.skip=" + costly}
			}
			run.Run(t)
		})
	}
}

// A mode is what it is called: the rest of its run proves nothing otherwise.
func TestModeHolds(t *testing.T) {
	r := newRig(t)
	e := r.up("echo up; sleep 100")
	holds := await[messages.ProcessStarted](e).Isolation
	if want := os.Getenv(holdsVar); want != "" && string(holds) != want || holds != r.e.Features().Isolation {
		t.Errorf("the job is held by %s, the engine says %s, want %q", holds, r.e.Features().Isolation, want)
	}
	if holds == messages.InCgroup {
		return
	}
	if f := r.e.Features(); f.NoCgroup == "" || f.Cgroup != "" {
		t.Errorf("no reason why there are no cgroups: %+v", f)
	}
}
