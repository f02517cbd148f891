package engine

import (
	"bytes"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// cgroup is one cgroup, leased to a job. After the lease ends no call of that job
// reaches it: the next job may be in it.
type cgroup struct {
	all  *cgroups
	name string

	mu     sync.Mutex
	fd     int  // -1: only the name is known
	events int  // cgroup.events, open as long as fd is
	asMade bool // when last read it was empty and not frozen
	killed bool // it cannot be used again
	ended  bool
}

// file opens one of the cgroup's files.
func (g *cgroup) file(name string, flags int) (int, error) {
	if g.fd >= 0 {
		return g.all.platform.sys.OpenAt(g.fd, name, flags)
	}
	return g.all.platform.sys.OpenAt(g.all.base, g.name+"/"+name, flags)
}

// held counts the open descriptor of a live job's cgroup, or closes it if there are too
// many.
func (g *cgroup) held() {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.all.open.Add(1) > maxOpen {
		g.shut()
	}
}

// shut closes the descriptors of a leased cgroup. The caller holds mu.
func (g *cgroup) shut() {
	g.all.open.Add(-1)
	g.close()
}

func (g *cgroup) close() {
	if g.fd >= 0 {
		_ = g.all.platform.sys.Close(g.fd)
		_ = g.all.platform.sys.Close(g.events)
	}
	g.fd, g.events = -1, -1
}

// openAt opens an emptied cgroup for a lease.
func (c *cgroups) openAt(name string) (*cgroup, error) {
	fd, err := c.platform.sys.OpenAt(c.base, name, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	events, err := c.platform.sys.OpenAt(fd, "cgroup.events", unix.O_RDONLY)
	if err != nil {
		_ = c.platform.sys.Close(fd)
		return nil, err
	}
	return &cgroup{all: c, name: name, fd: fd, events: events}, nil
}

// while calls f unless the lease has ended.
func (g *cgroup) while(f func()) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if !g.ended {
		f()
	}
}

// read reads one of the cgroup's files.
func (g *cgroup) read(name string) ([]byte, error) {
	dir, path := g.fd, name
	if dir < 0 {
		dir, path = g.all.base, g.name+"/"+name
	}
	return readFile(g.all.platform.sys, dir, path)
}

// populated reports whether a process is in the cgroup or below it.
func (g *cgroup) populated() (bool, error) {
	text, err := g.readEvents()
	if err == unix.ENOENT || err == unix.ENODEV {
		return false, nil // it was removed, so it was empty
	}
	if err != nil {
		return true, err
	}
	populated, ok := keyed(text, "populated")
	frozen, _ := keyed(text, "frozen")
	g.asMade = ok && populated == 0 && frozen == 0
	return populated != 0 || !ok, nil
}

// readEvents reads cgroup.events, with one call while the descriptors are open.
func (g *cgroup) readEvents() ([]byte, error) {
	if g.fd < 0 {
		return g.read("cgroup.events")
	}
	buf := make([]byte, 64)
	n, err := g.all.platform.sys.Pread(g.events, buf)
	return buf[:max(n, 0)], err
}

// oomKills counts the OOM kills in the cgroup; -1: unknown.
func (g *cgroup) oomKills() int64 {
	if !g.all.memory {
		return -1
	}
	text, err := g.read("memory.events")
	if err != nil {
		return -1
	}
	n, ok := keyed(text, "oom_kill")
	if !ok {
		return -1
	}
	return n
}

// removed reports whether the cgroup is not there any more: it was emptied, and another process may
// remove it then.
func (g *cgroup) removed() bool {
	var st unix.Stat_t
	return g.all.platform.sys.StatAt(g.all.base, g.name, &st) == unix.ENOENT
}

// procs lists the processes in the cgroup and below it.
func (g *cgroup) procs() []int {
	if g.fd >= 0 {
		return procsBelow(g.all.platform.sys, g.fd, ".", maxCgroupDepth)
	}
	return procsBelow(g.all.platform.sys, g.all.base, g.name, maxCgroupDepth)
}

func procsBelow(sys Sys, dir int, path string, depth int) []int {
	text, err := readFile(sys, dir, path+"/cgroup.procs")
	if err != nil {
		return nil
	}
	var pids []int
	for _, f := range bytes.Fields(text) {
		if pid, err := strconv.Atoi(string(f)); err == nil && pid > 0 {
			pids = append(pids, pid)
		}
	}
	var st unix.Stat_t
	if depth == 1 || sys.StatAt(dir, path, &st) != nil || st.Nlink <= 2 {
		return pids
	}
	for _, sub := range subCgroups(sys, dir, path) {
		pids = append(pids, procsBelow(sys, dir, path+"/"+sub, depth-1)...)
	}
	return pids
}

// kill kills all processes in the cgroup and below it at once, forks included. It
// misses a process with several threads that is in execve (docs/decisions/034).
//
// A killed cgroup is not reused. The kernel counts kills and kills a new process at its
// clone if that count differs from its parent's cgroup (Linux 6.14 and backports). The
// caller holds mu.
func (g *cgroup) kill() error {
	if !g.all.canEnd {
		return unix.ENOENT
	}
	g.killed = true
	fd, err := g.file("cgroup.kill", unix.O_WRONLY)
	if err != nil {
		return err
	}
	defer g.all.platform.sys.Close(fd)
	_, err = g.all.platform.sys.Write(fd, []byte("1"))
	return err
}

// thaw unfreezes the cgroup: a job may have frozen its own.
func (g *cgroup) thaw() {
	if fd, err := g.file("cgroup.freeze", unix.O_WRONLY); err == nil {
		_, _ = g.all.platform.sys.Write(fd, []byte("0"))
		_ = g.all.platform.sys.Close(fd)
	}
}

// giveBack ends the lease. An empty, unchanged cgroup is kept for another job.
func (g *cgroup) giveBack() {
	g.mu.Lock()
	if g.ended {
		g.mu.Unlock()
		return
	}
	clean := g.pristine()
	g.ended = true
	g.mu.Unlock()
	if clean && g.reuse() {
		return
	}
	g.remove()
}

// release gives back a cgroup that held has counted.
func (g *cgroup) release() {
	g.mu.Lock()
	if !g.ended && g.fd >= 0 {
		g.all.open.Add(-1)
	}
	g.mu.Unlock()
	g.giveBack()
}

// pristine reports whether the cgroup is empty, never frozen or killed, and without
// children. The caller holds mu.
func (g *cgroup) pristine() bool {
	if g.killed {
		return false
	}
	if !g.asMade {
		if populated, err := g.populated(); populated || err != nil || !g.asMade {
			return false
		}
	}
	var st unix.Stat_t
	var err error
	if g.fd >= 0 {
		err = g.all.platform.sys.StatAt(g.fd, ".", &st)
	} else {
		err = g.all.platform.sys.StatAt(g.all.base, g.name, &st)
	}
	return err == nil && st.Nlink <= 2
}

// reuse puts the cgroup into the pool for a new lease.
func (g *cgroup) reuse() bool {
	if !g.all.room() {
		return false
	}
	next := &cgroup{all: g.all, name: g.name, fd: g.fd, events: g.events}
	if g.fd < 0 {
		var err error
		if next, err = g.all.openAt(g.name); err != nil {
			return false
		}
	}
	g.fd, g.events = -1, -1
	if !g.all.keep(next) {
		next.remove()
	}
	return true
}

// spoil ends the lease of a cgroup in which forks fail.
func (g *cgroup) spoil() {
	g.all.forked(false)
	g.mu.Lock()
	g.ended = true
	g.mu.Unlock()
	g.remove()
}

// remove gives the cgroup to the remover.
func (g *cgroup) remove() {
	g.close()
	g.all.waste.remove(g.name)
}
