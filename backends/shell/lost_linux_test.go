package shell_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/backends/shell"
	"troupe/messages"
)

// An interrupt that comes late for one command, and meets the shell as it takes the next,
// loses neither: the shell says that it may have lost what it read, and is told again.
// The reads of zsh and fish are not interrupted.
func TestFaultInterruptedAsItTakesACommand(t *testing.T) {
	for name, o := range map[string]shell.Options{
		"bash": {}, "dash": {}, "zsh": {}, "fish": {},
		"bash on a terminal": onTerminals, "dash on a terminal": onTerminals, "zsh on a terminal": onTerminals,
	} {
		for _, stolen := range []int{18, 17, 9, 2, 1, 0} { // bytes of what it is told, which a read takes that is interrupted
			if stolen > 0 && !strings.Contains(name, "ash") {
				continue
			}
			t.Run(fmt.Sprint(name, " ", stolen), func(t *testing.T) {
				kind, _, _ := strings.Cut(name, " ")
				needShell(t, kind)
				r := newRig(t, o)
				r.TB = t
				s := r.open(kind)
				defer s.close()
				for i := range 5 {
					before := s.start("true")
					before.over()
					pid := await[messages.ProcessStarted](before.ear).PID
					awaitState(t, pid, 'S') // in its read
					must(t, unix.Kill(pid, unix.SIGSTOP))
					awaitState(t, pid, 'T')
					run := s.start(fmt.Sprintf("echo on %d", i))
					await[messages.ProcessStarted](run.ear)
					r.steal(t, stolen)
					must(t, unix.Kill(pid, unix.SIGINT))
					must(t, unix.Kill(pid, unix.SIGCONT))
					f := run.over()
					if out := run.output(messages.Merged); f.Status.Code != 0 || strings.TrimSpace(out) != fmt.Sprintf("on %d", i) {
						t.Errorf("%+v, %q", f, out)
					}
				}
			})
		}
	}
}

// awaitState waits until a process is in a state, as ps names it.
func awaitState(t *testing.T, pid int, want byte) {
	t.Helper()
	for {
		stat, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
		must(t, err)
		if _, state, _ := strings.Cut(string(stat), ") "); state[0] == want {
			return
		}
	}
}

// steal takes what the shell is told as soon as it is.
func (r *rig) steal(t *testing.T, n int) {
	t.Helper()
	path, err := filepath.Glob(filepath.Join(r.root, "*", "troupe-shell-*", "ctl"))
	must(t, err)
	ctl, err := unix.Open(path[0], unix.O_RDWR|unix.O_CLOEXEC, 0)
	must(t, err)
	defer unix.Close(ctl)
	poll := []unix.PollFd{{Fd: int32(ctl), Events: unix.POLLIN}}
	for {
		if ready, err := unix.Poll(poll, -1); ready == 1 && err == nil {
			break
		}
	}
	for p := make([]byte, n); len(p) > 0; {
		got, err := unix.Read(ctl, p)
		must(t, err)
		p = p[got:]
	}
}

func must(t *testing.T, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}
