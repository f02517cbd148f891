package pty_test

import (
	"os"
	"testing"

	"troupe/backends/pipe"
	"troupe/backends/pty"
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
const modeVar = "TROUPE_PTY_MODE"

const (
	library   = enginetest.Library
	own       = enginetest.Own
	noCgroups = enginetest.NoCgroups
)

// A command on a terminal keeps the promises of any other, over the real engine.
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
		{Name: own + " " + noCgroups, Needs: need.Root, Ordinary: true},
	})
}

func conform(t *testing.T, mode string) {
	conformance.Run(t, func(t *testing.T) conformance.Subject {
		e := enginetest.New(t, mode)
		return conformance.Subject{
			Backend: pty.New(e, pipe.Options{}), Engine: e, Reach: e.Reach(t, mode), Real: true, Terminals: true,
			Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"},
		}
	})
}

func cgroups(t testing.TB) { need.Cgroup(t) }
