package limits

import (
	"cmp"
	"maps"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// raised lists the limits at which calls of the daemon and its keepers fail: the runtime ends a
// process without memory or threads. It raises the limit of open files itself and restores it in
// children. It ignores XCPU, which a process gets at its soft limit of CPU time.
var raised = []int{unix.RLIMIT_FSIZE, unix.RLIMIT_DATA, unix.RLIMIT_AS, unix.RLIMIT_NPROC}

// Raise raises the soft limits of this process to the hard ones, and returns what its jobs start
// with. It lowers the rank of this process for the OOM killer. from is what the process that started this one has passed.
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
	var lowered bool
	g.OOM, lowered = lowerOOM()
	g.changed = lowered || len(g.Soft) > 0
	maps.Copy(g.Soft, from.Soft)
	g.OOM = cmp.Or(from.OOM, g.OOM)
	return g
}

const (
	oomFile = "/proc/self/oom_score_adj"
	// lastOOM makes a process one of the last that the OOM killer chooses.
	lastOOM = -900
)

// lowerOOM lowers the oom_score_adj of this process, as far as it may. It returns the former one;
// nil: unknown.
func lowerOOM() (before *int, lowered bool) {
	text, err := os.ReadFile(oomFile)
	if err != nil {
		return nil, false
	}
	n, err := strconv.Atoi(strings.TrimSpace(string(text)))
	if err != nil {
		return nil, false
	}
	for _, to := range []int{lastOOM, 0} { // without privileges it may only undo what a user has raised
		if to < n && os.WriteFile(oomFile, []byte(strconv.Itoa(to)), 0) == nil {
			return &n, true
		}
	}
	return &n, false
}
