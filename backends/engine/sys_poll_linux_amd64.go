package engine

import "golang.org/x/sys/unix"

// The older calls by which programs wait for one of several descriptors.
const (
	sysPoll   = unix.SYS_POLL
	sysSelect = unix.SYS_SELECT
)
