package engine

import (
	"os"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// The jobs of a process of the engine's own have the default action of every signal, and the
// process still ignores what it has ignored. A library's host and its jobs stay as they are.
func TestJobsHaveDefaultSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU} {
		var was sigaction
		if err := (kernel{}).SignalAction(sig, &sigaction{sigIgn}, &was); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { _ = kernel{}.SignalAction(sig, &was, nil) })
	}
	ignored := func() string {
		text, err := os.ReadFile("/proc/self/status")
		if err != nil {
			t.Fatal(err)
		}
		_, rest, _ := strings.Cut(string(text), "SigIgn:\t")
		set, _, _ := strings.Cut(rest, "\n")
		return set
	}
	before := ignored()
	r := newRig(t)
	want := before
	if modeNow().own {
		want = "0000000000000000"
	}
	e, _ := r.run("sed -n 's/^SigIgn:.//p' /proc/self/status")
	if got := strings.TrimSpace(r.output(e, messages.Merged)); got != want {
		t.Errorf("a job ignores %s, want %s", got, want)
	}
	if now := ignored(); now != before {
		t.Errorf("this process ignores %s, before the engine %s", now, before)
	}
}
