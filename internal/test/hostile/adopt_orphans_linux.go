package hostile

import "syscall"

// prSetChildSubreaper is of linux/prctl.h.
const prSetChildSubreaper = 36

// adoptOrphans makes this process the parent of all orphans below it; an exec
// does not change that.
func adoptOrphans() error {
	if _, _, errno := syscall.RawSyscall(syscall.SYS_PRCTL, prSetChildSubreaper, 1, 0); errno != 0 {
		return errno
	}
	return nil
}
