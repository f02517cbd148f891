package chaosrun

import "golang.org/x/sys/unix"

// processFD returns a descriptor that can be read from when the process has ended.
func processFD(pid int) (int, error) { return unix.PidfdOpen(pid, 0) }
