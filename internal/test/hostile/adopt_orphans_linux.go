package hostile

import "syscall"

// prSetChildSubreaper is a constant of linux/prctl.h.
const prSetChildSubreaper = 36

// adoptOrphans makes this process the subreaper of its descendants. It survives an
// exec.
func adoptOrphans() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return errno
	}
	return nil
}
