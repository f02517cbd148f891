package spill

import "golang.org/x/sys/unix"

// enlarge makes a pipe as large as the engine makes it.
func enlarge(fd int) { _, _ = unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, 1<<20) }
