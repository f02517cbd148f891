package keeper_test

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"troupe/backends/keeper"
	"troupe/backends/pipe"
	"troupe/backends/pty"
	"troupe/internal/limits"
	"troupe/internal/test/conformance"
	"troupe/internal/test/hostile"
	"troupe/internal/test/need"
	"troupe/messages"
)

// roleArg makes this test program a keeper; noCgroups before it has its engine do
// without.
const (
	roleArg   = "keeper-role"
	noCgroups = "without-cgroups"
)

func TestMain(m *testing.M) {
	if code, ours := hostile.Main(os.Args[1:]); ours {
		os.Exit(code)
	}
	if code, ours := mainRole(os.Args[1:]); ours {
		os.Exit(code)
	}
	if code, ours := mainDaemon(os.Args[1:]); ours {
		os.Exit(code)
	}
	os.Exit(m.Run())
}

// mainRole plays the program that the arguments name.
func mainRole(args []string) (code int, ours bool) {
	if len(args) < 2 {
		return 0, false
	}
	if args[0] == laterArg {
		if err := keeper.ServeForeign(args[1]); err != nil {
			fmt.Fprintln(os.Stderr, err)
			return 1, true
		}
		return 0, true
	}
	bare := args[0] == noCgroups
	if args[0] != roleArg && !bare {
		return 0, false
	}
	dir, fd, alone := "", -1, slices.Contains(args, "--alone")
	for i := 0; i+1 < len(args); i++ {
		switch args[i] {
		case "--dir":
			dir = args[i+1]
		case "--fd":
			fd, _ = strconv.Atoi(args[i+1])
		}
	}
	if err := keeper.Main(dir, fd, "test", bare, alone, limits.Given{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1, true
	}
	return 0, true
}

// keeperDir is a directory for a keeper.
func keeperDir(t testing.TB) string {
	dir := filepath.Join(t.TempDir(), "k")
	if err := os.Mkdir(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { awaitKeeperEnd(dir) })
	return dir
}

// awaitKeeperEnd waits until the keeper of a directory has written its last logs, so
// that the directory can be removed. One that a test leaves running is not waited for.
func awaitKeeperEnd(dir string) {
	lock, err := os.Open(filepath.Join(dir, "keeper.lock"))
	if err != nil {
		return
	}
	free := make(chan error, 1)
	go func() {
		defer lock.Close()
		free <- syscall.Flock(int(lock.Fd()), syscall.LOCK_EX)
	}()
	select {
	case <-free:
	case <-time.After(5 * time.Second):
	}
}

// open starts a keeper of this program, or finds it.
func open(t testing.TB, dir string, args ...string) *keeper.Client {
	t.Helper()
	return openWith(t, dir, func(err error) { t.Logf("fault: %v", err) }, args...)
}

func openWith(t testing.TB, dir string, fault func(error), args ...string) *keeper.Client {
	t.Helper()
	if args == nil {
		args = []string{roleArg}
	}
	c, err := keeper.Open(t.Context(), keeper.ClientOptions{
		Dir: dir, Build: "test", Program: append([]string{self(t)}, args...),
		Env:   []string{"PATH=/usr/bin:/bin", "GORACE=atexit_sleep_ms=0", "TMPDIR=" + os.Getenv("TMPDIR")},
		Fault: fault,
	})
	if err != nil {
		said, _ := os.ReadFile(filepath.Join(dir, "keeper.err"))
		t.Fatalf("%v\n%s", err, said)
	}
	return c
}

const modeVar = "TROUPE_KEEPER_MODE"

// A job of a keeper keeps the promises of any job.
func TestConformance(t *testing.T) {
	if mode := os.Getenv(modeVar); mode != "" {
		conform(t, mode)
		return
	}
	conformance.Modes(t, modeVar, []conformance.Mode{
		{Name: roleArg, Needs: cgroups},
		{Name: noCgroups},
		{Name: noCgroups, Needs: need.Root, Ordinary: true},
		{Name: roleArg + onTerminals, Needs: cgroups},
		{Name: noCgroups + onTerminals},
	})
}

// onTerminals is a mode in which every job is on a terminal.
const onTerminals = " on terminals"

func conform(t *testing.T, mode string) {
	mode, typed := strings.CutSuffix(mode, onTerminals)
	conformance.Run(t, func(t *testing.T) conformance.Subject {
		dir := keeperDir(t)
		c := open(t, dir, mode)
		t.Cleanup(func() {
			if left := c.Close(false); len(left) > 0 {
				t.Errorf("survivors: %+v", left)
			}
			if said, _ := os.ReadFile(filepath.Join(dir, "keeper.err")); len(said) > 0 {
				t.Errorf("the keeper said:\n%s", said)
			}
			if left, _ := filepath.Glob(filepath.Join(dir, "logs", "*", "troupe-script-*")); len(left) > 0 {
				t.Errorf("%v is left", left)
			}
		})
		want := messages.InCgroup
		if strings.Contains(mode, noCgroups) {
			want = messages.Subreaper
		}
		if got := c.Features().Isolation; got != want {
			t.Errorf("the keeper holds its jobs by %s, want %s", got, want)
		}
		backend := pipe.New(c, pipe.Options{})
		if typed {
			backend = pty.New(c, pipe.Options{})
		}
		return conformance.Subject{
			Backend: backend, Engine: c, Reach: want, Real: true, Terminals: typed,
			Env: []string{"PATH=/usr/local/bin:/usr/bin:/bin:/opt/homebrew/bin"},
		}
	})
}

func cgroups(t testing.TB) { need.Cgroup(t) }
