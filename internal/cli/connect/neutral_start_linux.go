package connect

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// neutralStart calls start in a thread with the usual nice value, scheduling policy, I/O priority
// and processors, as far as this user may set them. The daemon that start starts inherits them,
// and not those of the command that happens to be the first. The thread ends with the call.
func neutralStart(start func() error) error {
	done := make(chan error, 1)
	go func() {
		runtime.LockOSThread()
		if a, err := unix.SchedGetAttr(0, 0); err == nil && unix.SchedSetAttr(0, &unix.SchedAttr{}, 0) != nil {
			_ = unix.SchedSetAttr(0, &unix.SchedAttr{Nice: a.Nice}, 0) // the nice value stays
		}
		_, _, _ = unix.RawSyscall(unix.SYS_IOPRIO_SET, ioprioProcess, 0, 0)
		all := unix.CPUSet{}
		for i := range all {
			all[i] = ^all[i]
		}
		_ = unix.SchedSetaffinity(0, &all) // the kernel takes those of the cpuset
		done <- start()
	}()
	return <-done
}

// ioprioProcess is IOPRIO_WHO_PROCESS, which means a thread.
const ioprioProcess = 1
