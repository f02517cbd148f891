package engine

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"troupe/messages"
	"troupe/supervision_test/need"
)

// holdsVar says in which way the engine of a run in some mode must hold its
// jobs.
const holdsVar = "TROUPE_ENGINE_HOLDS"

// nobody is a user without rights of its own, and without cgroups it may write.
const nobody = 65534

// costly are tests that are as good in one mode as in all: the modes differ in
// how trees are found and ended, not in how bytes are moved.
const costly = "^TestModes$|^TestFlood|^TestFullStore"

// The tests of the other modes run in processes of their own: an engine whose
// process is its own reaps every child there is, and a user is changed for
// good.
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
		{"own without cgroups", "own nocgroup", false, false, messages.Subreaper},
		{"library of an ordinary user", "library", true, false, messages.Group},
		{"own of an ordinary user", "own", true, false, messages.Subreaper},
	} {
		t.Run(c.name, func(t *testing.T) {
			if c.cgroup {
				need.Cgroup(t)
			}
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.v", "-test.timeout=5m")
			if !need.Soak() {
				cmd.Args = append(cmd.Args, "-test.skip="+costly)
			}
			cmd.Env = append(os.Environ(), modeVar+"="+c.mode, holdsVar+"="+string(c.holds))
			if c.ordinary {
				need.Root(t)
				asNobody(t, cmd)
			}
			t.Parallel()
			out, err := cmd.CombinedOutput()
			if err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			for _, test := range []string{"TestModeHolds", "TestHostileTreeEnds"} {
				if !strings.Contains(string(out), "--- PASS: "+test+" ") {
					t.Errorf("%s was not run:\n%s", test, out)
				}
			}
		})
	}
}

// asNobody has a test binary run as an ordinary user, from a copy: the place of
// the original is its builder's alone.
func asNobody(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	dir, err := os.MkdirTemp("", "ordinary")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	if err := os.Chown(dir, nobody, nobody); err != nil {
		t.Fatal(err)
	}
	cmd.Path = filepath.Join(dir, filepath.Base(cmd.Path))
	copyProgram(t, cmd.Path, os.Args[0])
	cmd.Dir, cmd.Env = dir, append(cmd.Env, "TMPDIR="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: nobody, Gid: nobody}}
}

func copyProgram(t *testing.T, to, from string) {
	t.Helper()
	src, err := os.Open(from)
	if err != nil {
		t.Fatal(err)
	}
	defer src.Close()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		t.Fatal(err)
	}
	_, err = io.Copy(dst, src)
	if closed := dst.Close(); err != nil || closed != nil {
		t.Fatal(err, closed)
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
