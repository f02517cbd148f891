//go:build amd64 || arm64

package signals

import "os"

// Origin returns the job whose tree a process belongs to; false if it is in no tree of this
// process and of the keepers below its state directory. The kernel gives each process of
// such a tree that one as an ancestor. The outermost process with a tag then names the job:
// those below it may have changed their variables. The result names none if all have
// dropped theirs, or if the process has ended.
func Origin(root string, pid int) (JobEnv, bool) {
	if _, seen := stat(os.Getpid()); !seen || pid == 0 { // without /proc, or in a pid namespace that holds no job
		return JobEnv{}, false
	}
	for range maxTries {
		if in, is, done := origin(root, pid); done {
			return in, is
		}
	}
	return JobEnv{}, true
}

// origin tries once. It is not done if a process of the line ended meanwhile.
func origin(root string, pid int) (in JobEnv, is, done bool) {
	self := os.Getpid()
	p, ok := stat(pid)
	for range maxDepth {
		switch {
		case !ok:
			return JobEnv{}, false, false
		case p.pid == self || p.ppid <= 1:
			return JobEnv{}, false, true
		}
		if env := jobOf(p.pid); env.UID != "" {
			in = env
		}
		if p.ppid == self {
			return in, true, true
		}
		if dir := keeperDir(p.ppid); dir != "" && within(root, dir) {
			return in, true, true
		}
		parent, found := stat(p.ppid)
		p, ok = parent, found && parent.start <= p.start
	}
	return JobEnv{}, true, true
}
