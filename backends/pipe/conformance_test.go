package pipe_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"troupe/backends/backendtest"
	"troupe/backends/backendtest/hostile"
	"troupe/backends/engine"
	"troupe/backends/pipe"
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
const modeVar = "TROUPE_PIPE_MODE"

const (
	library   = "library"
	own       = "own"
	noCgroups = "without cgroups"
)

// The backend keeps the promises over the real engine, whatever that may use.
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
		{Name: library + " " + noCgroups, Needs: need.Root, Ordinary: true},
		{Name: own + " " + noCgroups, Needs: need.Root, Ordinary: true},
	})
}

func conform(t *testing.T, mode string) {
	backendtest.Run(t, func(t *testing.T) backendtest.Subject {
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
			Node: node, Store: store, Own: strings.Contains(mode, own), NoCgroup: strings.Contains(mode, noCgroups),
			ScriptDir: store.Dir,
			Fault:     func(job messages.UID, fault error) { t.Errorf("a fault of job %s: %v", job, fault) },
		})
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if left := e.Close(false); len(left) > 0 {
				t.Errorf("survivors: %+v", left)
			}
			if left, _ := filepath.Glob(filepath.Join(root, node, "troupe-script-*")); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
			if left, _ := os.ReadDir(root); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
		roots := 0
		if need.Soak() {
			roots = 120 // as F17 asks
		}
		return backendtest.Subject{
			Backend: pipe.New(e, pipe.Options{}), Engine: e,
			Reach: reach(t, mode, e.Features().Isolation), Real: true, Roots: roots,
			Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"},
		}
	})
}

// reach is what a kill must reach in a mode; the engine has to know it.
func reach(t *testing.T, mode string, says messages.Isolation) messages.Isolation {
	t.Helper()
	want := messages.InCgroup
	switch mode {
	case library + " " + noCgroups:
		want = messages.Group
	case own + " " + noCgroups:
		want = messages.Subreaper
	}
	if says != want {
		t.Errorf("the engine holds its jobs by %s, want %s", says, want)
	}
	return want
}

func cgroups(t testing.TB) { need.Cgroup(t) }
