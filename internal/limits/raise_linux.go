package limits

import (
	"maps"

	"golang.org/x/sys/unix"
)

// raised lists the limits at which calls of the daemon and its keepers fail: the runtime ends a
// process without memory or threads. It raises the limit of open files itself and restores it in
// children. It ignores XCPU, which a process gets at its soft limit of CPU time.
var raised = []int{unix.RLIMIT_FSIZE, unix.RLIMIT_DATA, unix.RLIMIT_AS, unix.RLIMIT_NPROC}

// Raise raises the soft limits of this process to the hard ones, and returns what its jobs start
// with. from is what the process that started this one has passed.
func Raise(from Given) Given {
	g := Given{Soft: map[int]uint64{}}
	for _, resource := range raised {
		var l unix.Rlimit
		if unix.Getrlimit(resource, &l) != nil || l.Cur == l.Max {
			continue
		}
		if unix.Setrlimit(resource, &unix.Rlimit{Cur: l.Max, Max: l.Max}) == nil {
			g.Soft[resource] = l.Cur
		}
	}
	maps.Copy(g.Soft, from.Soft)
	return g
}
