// Package need says what a test needs and this machine may not have. A test
// that cannot run here is skipped by name with the reason, so that it is
// counted, and no test skips itself in another way (the house test sees to it).
//
// There are two kinds. An installable is a program, or a package that runs on
// Node, that "make deps" installs; with TROUPE_TEST_STRICT=1 a missing one is a failure. A feature belongs to
// the kernel or to the rights of the user; a missing one is only ever counted.
package need

import (
	_ "embed" // the list of installables is a file, which make deps reads too
	"os"
	"os/exec"
	"strings"
	"testing"
)

// programs.txt has one line for each installable: the program, then the Debian
// packages that hold it.
//
//go:embed programs.txt
var programs string

// Program gives the path of an installable program, or ends the test.
// A program that make deps does not know is a failure everywhere.
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

// lacks ends a test that needs something installable.
func lacks(t testing.TB, name string) {
	t.Helper()
	if os.Getenv("TROUPE_TEST_STRICT") == "1" {
		t.Fatalf("needs %s: install it with make deps (TROUPE_TEST_STRICT=1 forbids to skip)", name)
	}
	t.Skipf("needs %s: install it with make deps", name)
}

// Feature skips the test unless the machine has what is named: something of
// the kernel, or a right, that no package can bring.
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

// Pidfd skips the test unless the kernel gives handles of processes.
func Pidfd(t testing.TB) {
	t.Helper()
	self, err := os.FindProcess(os.Getpid())
	if err == nil {
		err = self.WithHandle(func(uintptr) {})
	}
	Feature(t, err == nil, "pidfd")
}

// Soak says whether this is a long run (make soak). A test that has a short and
// a long form asks it for the number of rounds, and is never skipped.
func Soak() bool { return os.Getenv("TROUPE_SOAK") == "1" }

func installable(name string) bool {
	for line := range strings.Lines(programs) {
		if fields := strings.Fields(line); len(fields) > 1 && fields[0] == name {
			return true
		}
	}
	return false
}
