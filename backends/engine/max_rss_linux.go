package engine

import "golang.org/x/sys/unix"

// maxRSS is in KiB as Linux counts it; the field is as wide as the machine's words.
func maxRSS(u *unix.Rusage) int64 { return int64(u.Maxrss) }
