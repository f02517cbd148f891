//go:build linux && !amd64

package engine

// Older system calls that wait for one of several descriptors; newer machines lack them.
const (
	sysPoll   = -1
	sysSelect = -2
)
