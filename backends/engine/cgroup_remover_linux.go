package engine

import (
	"sync"
	"time"

	"golang.org/x/sys/unix"
)

// cgroupRemover removes unused cgroups one after the other. Each removal waits for a
// lock of all cgroups of the machine and holds a thread: 10,000 ends at once took 3,500
// threads.
type cgroupRemover struct {
	all *cgroups

	mu    sync.Mutex
	names []string // at most those of the cgroups that exist
	busy  bool
}

// Retries of a removal: the kernel may not have released the last process yet.
const (
	removePause = 2 * time.Millisecond
	removeLast  = 512 * time.Millisecond
	removeTries = 9 // doubling: one second in all
)

// remove removes a cgroup soon. One that never empties goes with the base directory.
func (k *cgroupRemover) remove(name string) {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.names = append(k.names, name)
	if !k.busy {
		k.busy = true
		k.all.platform.engine.background(k.work)
	}
}

// take returns the queued names. Without names or retries the work ends.
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

// try removes a cgroup and reports whether it is gone or unreachable.
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
