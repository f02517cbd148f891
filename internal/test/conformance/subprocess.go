package conformance

import (
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// Subprocess runs this test program in a process of its own, so that its children,
// counts and rights do not affect other tests. An engine that owns its process reaps
// every child, and a change of user is permanent.
type Subprocess struct {
	Args     []string // of the test program
	Env      []string // added to that of this process
	Ordinary bool     // as a user without rights; needs root
	Passes   []string // tests that must have passed
}

// ordinaryUser is the id of a user without rights and without a writable cgroup.
const ordinaryUser = 65534

// Run fails the test unless the subprocess passes.
func (a Subprocess) Run(t *testing.T) {
	t.Helper()
	cmd := exec.CommandContext(t.Context(), os.Args[0], append([]string{"-test.v", "-test.timeout=9m"}, a.Args...)...)
	cmd.Env = append(os.Environ(), a.Env...)
	if a.Ordinary {
		asOrdinaryUser(t, cmd)
	}
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, failures(string(out)))
	}
	for _, test := range a.Passes {
		if !strings.Contains(string(out), "--- PASS: "+test+" ") {
			t.Errorf("%s did not pass:\n%s", test, out)
		}
	}
}

// Mode is one kind of host for the conformance tests.
type Mode struct {
	Name     string
	Needs    func(testing.TB) // skips if this kind is not available; nil: it is everywhere
	Ordinary bool             // an ordinary user's
}

// Modes runs TestConformance of this program once for each mode, in a subprocess that
// finds the mode's name in the variable.
func Modes(t *testing.T, variable string, modes []Mode) {
	t.Helper()
	for _, m := range modes {
		name := m.Name
		if m.Ordinary {
			name += ", as an ordinary user"
		}
		t.Run(name, func(t *testing.T) {
			if m.Needs != nil {
				m.Needs(t)
			}
			t.Parallel()
			Subprocess{
				Args: []string{"-test.run=^TestConformance$"}, Env: []string{variable + "=" + m.Name},
				Ordinary: m.Ordinary, Passes: []string{"TestConformance/a_hostile_tree"},
			}.Run(t)
		})
	}
}

// asOrdinaryUser runs the program as an ordinary user, from a copy that this user can
// read.
func asOrdinaryUser(t *testing.T, cmd *exec.Cmd) {
	t.Helper()
	dir, err := os.MkdirTemp("", "ordinary")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { os.RemoveAll(dir) })
	program := filepath.Join(dir, filepath.Base(cmd.Path))
	if err := errors.Join(copyProgram(program, cmd.Path), os.Chown(dir, ordinaryUser, ordinaryUser)); err != nil {
		t.Fatal(err)
	}
	cmd.Path, cmd.Dir, cmd.Env = program, dir, append(cmd.Env, "TMPDIR="+dir, "HOME="+dir)
	cmd.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: ordinaryUser, Gid: ordinaryUser}}
}

func copyProgram(to, from string) error {
	src, err := os.Open(from)
	if err != nil {
		return err
	}
	defer src.Close()
	syscall.ForkLock.RLock() // a child forked now would keep it open for writing: ETXTBSY
	defer syscall.ForkLock.RUnlock()
	dst, err := os.OpenFile(to, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o755)
	if err != nil {
		return err
	}
	_, err = io.Copy(dst, src)
	return errors.Join(err, dst.Chmod(0o755), dst.Close())
}

// failures returns the output without passed tests. It changes the marks, so that tools
// do not count these tests as tests of this process.
func failures(out string) string {
	var kept []string
	for line := range strings.Lines(out) {
		switch mark := strings.TrimSpace(line); {
		case strings.HasPrefix(mark, "=== "), strings.HasPrefix(mark, "--- PASS"), strings.HasPrefix(mark, "--- SKIP"):
		default:
			kept = append(kept, strings.Replace(line, "--- FAIL", "-- failed", 1))
		}
	}
	return strings.Join(kept, "")
}
