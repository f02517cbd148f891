package need

import (
	_ "embed" // the list of installables is a file, which make deps reads too
	"os"
	"os/exec"
	"strings"
	"testing"
)

// programs has one line for each installable: the program, then the Debian packages
// that contain it.
//
//go:embed programs.txt
var programs string

// Program returns the path of an installable program, or skips the test. A program that
// make deps does not install is a failure everywhere.
func Program(t testing.TB, name string) string {
	t.Helper()
	if !installable(name) {
		t.Fatalf("make deps does not know %s: add a line to internal/test/need/programs.txt", name)
	}
	path, err := exec.LookPath(name)
	if err == nil {
		return path
	}
	lacks(t, name)
	return ""
}

// lacks ends a test without something installable.
func lacks(t testing.TB, name string) {
	t.Helper()
	if os.Getenv("TROUPE_TEST_STRICT") == "1" {
		t.Fatalf("needs %s: install it with make deps (TROUPE_TEST_STRICT=1 forbids to skip)", name)
	}
	t.Skipf("needs %s: install it with make deps", name)
}

// Feature skips the test unless the machine has the named feature: a kernel feature or
// a right that no package provides.
func Feature(t testing.TB, has bool, name string) {
	t.Helper()
	if !has {
		t.Skipf("needs %s: this machine or user has none", name)
	}
}

// Root skips the test unless it runs as root.
func Root(t testing.TB) {
	t.Helper()
	Feature(t, os.Geteuid() == 0, "root")
}

// Free reports whether the tests run without no_new_privs, so that they can give it to others.
func Free() bool {
	status, _ := os.ReadFile("/proc/self/status")
	return !strings.Contains(string(status), "NoNewPrivs:\t1")
}

// Pidfd skips the test unless the kernel supports process handles.
func Pidfd(t testing.TB) {
	t.Helper()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.WithHandle(func(uintptr) {})
	}
	Feature(t, err == nil, "pidfd")
}

// Soak reports whether this is a long run (make soak). A test with a short and a long
// form chooses its rounds by it, and is never skipped.
func Soak() bool { return os.Getenv("TROUPE_SOAK") == "1" }

func installable(name string) bool {
	for line := range strings.Lines(programs) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			return true
		}
	}
	return false
}
