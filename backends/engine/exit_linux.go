package engine

import "golang.org/x/sys/unix"

// maxRSS is in KiB as Linux counts it.
func maxRSS(u *unix.Rusage) int64 { return u.Maxrss }
