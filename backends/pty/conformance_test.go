package pty_test

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"troupe/backends/backendtest"
	"troupe/backends/backendtest/hostile"
	"troupe/backends/engine"
	"troupe/backends/pipe"
	"troupe/backends/pty"
	"troupe/messages"
	"troupe/spill"
	"troupe/supervision_test/need"
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
	library   = "library"
	own       = "own"
	noCgroups = "without cgroups"
)

// A command on a terminal keeps the promises of any other, over the real engine.
func TestConformance(t *testing.T) {
	if mode := os.Getenv(modeVar); mode != "" {
		conform(t, mode)
		return
	}
	backendtest.Modes(t, modeVar, []backendtest.Mode{
		{Name: library, Needs: cgroups},
		{Name: library + " " + noCgroups},
		{Name: own, Needs: cgroups},
		{Name: own + " " + noCgroups},
		{Name: own + " " + noCgroups, Needs: need.Root, Ordinary: true},
	})
}

func cgroups(t testing.TB) { need.Cgroup(t) }

func conform(t *testing.T, mode string) {
	backendtest.Run(t, func(t *testing.T) backendtest.Subject {
		e := newEngine(t, mode)
		reach := messages.InCgroup
		switch mode {
		case library + " " + noCgroups:
			reach = messages.Group
		case own + " " + noCgroups:
			reach = messages.Subreaper
		}
		if says := e.Features().Isolation; says != reach {
			t.Errorf("the engine holds its jobs by %s, want %s", says, reach)
		}
		return backendtest.Subject{
			Backend: pty.New(e, pipe.Options{}), Engine: e, Reach: reach, Real: true, Terminals: true,
			Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"},
		}
	})
}

// newEngine makes an engine of which nothing may be left.
func newEngine(t *testing.T, mode string) *engine.Local {
	t.Helper()
	root := t.TempDir()
	if err := os.Chmod(root, 0o700); err != nil {
		t.Fatal(err)
	}
	node := fmt.Sprintf("TEST%d", time.Now().UnixNano())
	store, err := spill.OpenStore(spill.Options{Root: root, Node: node})
	if err != nil {
		t.Fatal(err)
	}
	e, err := engine.New(engine.Options{
		Node: node, Store: store, Own: strings.Contains(mode, own), NoCgroup: strings.Contains(mode, noCgroups), ScriptDir: store.Dir,
		Fault: func(job messages.UID, fault error) { t.Errorf("a fault of job %s: %v", job, fault) },
	})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if left := e.Close(false); len(left) > 0 {
			t.Errorf("survivors: %+v", left)
		}
		if err := store.Close(); err != nil {
			t.Error(err)
		}
		if left, _ := os.ReadDir(root); len(left) > 0 {
			t.Errorf("%v is left", left)
		}
	})
	return e
}
