package engine

import (
	"os"
	"strconv"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// A process of the engine's own has no handler of SIGCHLD as long as the engine is
// there, and sees every exit.
func TestOwnProcessGetsNoSIGCHLD(t *testing.T) {
	if !modeNow().own {
		return // the signals of a library's host are its own
	}
	if !handled(t, unix.SIGCHLD) {
		t.Fatal("the Go runtime has no handler: the test shows nothing")
	}
	t.Cleanup(func() { // behind the close of the engine
		if !handled(t, unix.SIGCHLD) {
			t.Error("its handler did not come back")
		}
	})
	r := newRig(t)
	if handled(t, unix.SIGCHLD) {
		t.Error("it is handled")
	}
	for range 10 {
		if e, x := r.run("(exit 3) & exit 4"); x.Status != (messages.ExitStatus{Code: 4}) {
			t.Errorf("%s: %+v", e.id, x)
		}
	}
}

// handled reports whether this process has a handler of a signal.
func handled(t *testing.T, sig unix.Signal) bool {
	t.Helper()
	text, err := os.ReadFile("/proc/self/status")
	if err != nil {
		t.Fatal(err)
	}
	_, rest, _ := strings.Cut(string(text), "SigCgt:")
	mask, _, _ := strings.Cut(rest, "\n")
	set, err := strconv.ParseUint(strings.TrimSpace(mask), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	return set&(1<<(sig-1)) != 0
}
