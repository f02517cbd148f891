package pipe_test

import (
	"os"
	"testing"

	"troupe/backends/pipe"
	"troupe/internal/test/conformance"
	"troupe/internal/test/enginetest"
	"troupe/internal/test/hostile"
	"troupe/internal/test/need"
)

func TestMain(m *testing.M) {
	if code, ours := hostile.Main(os.Args[1:]); ours {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// modeVar says in which way the engine runs; each has a process to itself.
const modeVar = "TROUPE_PIPE_MODE"

const (
	library   = enginetest.Library
	own       = enginetest.Own
	noCgroups = enginetest.NoCgroups
)

// The backend keeps the promises over the real engine, whatever that may use.
func TestConformance(t *testing.T) {
	if mode := os.Getenv(modeVar); mode != "" {
		conform(t, mode)
		return
	}
	conformance.Modes(t, modeVar, []conformance.Mode{
		{Name: library, Needs: cgroups},
		{Name: library + " " + noCgroups},
		{Name: own, Needs: cgroups},
		{Name: own + " " + noCgroups},
		{Name: library + " " + noCgroups, Needs: need.Root, Ordinary: true},
		{Name: own + " " + noCgroups, Needs: need.Root, Ordinary: true},
	})
}

func conform(t *testing.T, mode string) {
	conformance.Run(t, func(t *testing.T) conformance.Subject {
		e := enginetest.New(t, mode)
		roots := 0
		if need.Soak() {
			roots = 120 // as F17 asks
		}
		return conformance.Subject{
			Backend: pipe.New(e, pipe.Options{}), Engine: e, Reach: e.Reach(t, mode), Real: true, Roots: roots,
			Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"},
		}
	})
}

func cgroups(t testing.TB) { need.Cgroup(t) }
