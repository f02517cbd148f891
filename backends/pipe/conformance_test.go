package pipe_test

import (
	"fmt"
	"os"
	"os/exec"
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

// modeVar says in which way the engine runs. An engine whose process is its own
// reaps every child there is, so such a run has a process to itself.
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
	t.Run(library, func(t *testing.T) {
		need.Cgroup(t)
		conform(t, library)
	})
	t.Run(library+" "+noCgroups, func(t *testing.T) { conform(t, library+" "+noCgroups) })
	t.Run(own, func(t *testing.T) {
		need.Cgroup(t)
		again(t, own)
	})
	t.Run(own+" "+noCgroups, func(t *testing.T) { again(t, own+" "+noCgroups) })
}

// again runs the suite in a process of its own.
func again(t *testing.T, mode string) {
	cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestConformance$", "-test.v", "-test.timeout=8m")
	cmd.Env = append(os.Environ(), modeVar+"="+mode)
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	if !strings.Contains(string(out), "--- PASS: TestConformance/a_hostile_tree ") {
		t.Errorf("the suite was not run:\n%s", out)
	}
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
			Fault: func(job messages.UID, fault error) { t.Errorf("a fault of job %s: %v", job, fault) },
		})
		if err != nil {
			t.Fatal(err)
		}
		scripts := t.TempDir()
		t.Cleanup(func() {
			if left := e.Close(false); len(left) > 0 {
				t.Errorf("survivors: %+v", left)
			}
			if err := store.Close(); err != nil {
				t.Error(err)
			}
			for _, dir := range []string{scripts, root} {
				if left, _ := os.ReadDir(dir); len(left) > 0 {
					t.Errorf("%v is left", left)
				}
			}
		})
		roots := 0
		if need.Soak() {
			roots = 120 // as F17 asks
		}
		return backendtest.Subject{
			Backend: pipe.New(e, pipe.Options{ScriptDir: scripts}), Engine: e,
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
