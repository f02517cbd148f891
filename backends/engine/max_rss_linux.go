package engine

import "golang.org/x/sys/unix"

// maxRSS returns KiB, as Linux counts. The field has the machine's word size.
func maxRSS(u *unix.Rusage) int64 { return int64(u.Maxrss) }
