package engine

import (
	"fmt"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/internal/test/need"
	"troupe/messages"
)

// thief is a host that waits for children that are not its own, or ignores SIGCHLD: when
// the engine comes their statuses are taken.
type thief struct {
	kernel
	old bool // … on a kernel that tells them nobody else
}

func (t thief) Wait4(pid int, _ *unix.WaitStatus, options int, _ *unix.Rusage) (int, error) {
	if _, err := t.kernel.Wait4(pid, nil, options, nil); err != nil {
		return -1, err
	}
	return -1, unix.ECHILD
}

func (t thief) PidfdInfo(pidfd int, info *unix.PidfdInfo) error {
	if t.old {
		return unix.ENOTTY
	}
	return t.kernel.PidfdInfo(pidfd, info)
}

// The status of a job of a library is told as it was, also when the host has taken it;
// where the kernel does not tell it again the job says that something is wrong.
func TestFaultAStatusIsTakenByTheHost(t *testing.T) {
	for text, want := range map[string]messages.ExitStatus{
		"exit 3":     {Code: 3},
		"kill -9 $$": {Signal: "KILL", Number: 9},
	} {
		for _, old := range []bool{false, true} {
			t.Run(fmt.Sprintf("%s, told once: %t", text, old), func(t *testing.T) {
				told := !old && !modeNow().own // a process of ours has no pidfds, and no strangers either
				if told {
					need.Feature(t, tellsAgain(t), "the status of a process that was reaped (Linux 6.15)")
				}
				faults := make(chan error, 1)
				r := newRig(t, func(o *Options) {
					o.Sys = thief{old: old}
					o.Fault = func(_ messages.UID, err error) { faults <- err }
				})
				_, x := r.run(text)
				if told {
					if x.Status != want || len(x.Flags) > 0 || len(faults) > 0 {
						t.Errorf("%+v, %d faults", x, len(faults))
					}
					return
				}
				if x.Status.Code != 255 || !slices.Contains(x.Flags, messages.FlagKeeperFault) {
					t.Errorf("%+v", x)
				}
				if err := within(t, faults); !strings.Contains(err.Error(), "another waiter took the exit status") {
					t.Error(err)
				}
			})
		}
	}
}

// tellsAgain reports whether this kernel keeps the status of a process for who has a
// pidfd of it.
func tellsAgain(t *testing.T) (tells bool) {
	t.Helper()
	cmd := exec.Command("true")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	pidfd, err := unix.PidfdOpen(cmd.Process.Pid, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer unix.Close(pidfd)
	_ = cmd.Wait()
	info := unix.PidfdInfo{Mask: unix.PIDFD_INFO_EXIT}
	return kernel{}.PidfdInfo(pidfd, &info) == nil && info.Mask&unix.PIDFD_INFO_EXIT != 0
}
