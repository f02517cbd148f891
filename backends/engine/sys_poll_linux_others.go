//go:build linux && !amd64

package engine

// The older calls by which programs wait for one of several descriptors: newer
// machines have none.
const (
	sysPoll   = -1
	sysSelect = -2
)
