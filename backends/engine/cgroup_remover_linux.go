package engine

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupRemover removes cgroups that serve no more, one after the other. Each removal
// waits for a lock that all cgroups of the machine share, and holds a thread
// meanwhile: the ends of 10,000 jobs at once had 3,500 of them.
type cgroupRemover struct {
	all *cgroups

	mu    sync.Mutex
	names []string // at most those of the cgroups that exist
	busy  bool
}

// The removal of a cgroup may have to wait until the kernel has released its last process.
const (
	removePause = 2 * time.Millisecond
	removeLast  = 512 * time.Millisecond
	removeTries = 9 // doubling: one second in all
)

// remove removes a cgroup, now or soon; what nobody could empty goes with the
// base directory.
func (k *cgroupRemover) remove(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.names = append(k.names, name)
	if !k.busy {
		k.busy = true
		k.all.platform.engine.background(k.work)
	}
}

// take gives all that is to be removed; with nothing left the work ends, unless
// some are held back for another try.
func (k *cgroupRemover) take(held int) []string {
	k.mu.Lock()
	defer k.mu.Unlock()
	names := k.names
	k.names = nil
	k.busy = len(names)+held > 0
	return names
}

func (k *cgroupRemover) work() {
	tries := map[string]int{} // of those that were not empty
	pause := removePause
	for {
		k.all.platform.engine.enders.giveWay(killTimeout)
		names := k.take(len(tries))
		if len(names)+len(tries) == 0 {
			return
		}
		for name := range tries {
			names = append(names, name)
		}
		for _, name := range names {
			if tries[name]++; k.try(name) || tries[name] > removeTries {
				delete(tries, name)
			}
		}
		if len(tries) == 0 {
			pause = removePause
			continue
		}
		if !k.all.platform.rest(pause) {
			return // the base directory goes, with all that is empty in it
		}
		pause = min(2*pause, removeLast)
	}
}

// try reports whether a cgroup is gone, or out of reach.
func (k *cgroupRemover) try(name string) bool {
	sys, base := k.all.platform.sys, k.all.base
	switch err := sys.RmdirAt(base, name); err {
	case nil, unix.ENOENT:
		return true
	}
	removeCgroup(sys, base, name)
	var st unix.Stat_t
	return sys.StatAt(base, name, &st) == unix.ENOENT
}
