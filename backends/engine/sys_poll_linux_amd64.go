package engine

import "golang.org/x/sys/unix"

// Older system calls that wait for one of several descriptors.
const (
	sysPoll   = unix.SYS_POLL
	sysSelect = unix.SYS_SELECT
)
