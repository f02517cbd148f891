package engine

import (
	"bytes"
	"cmp"
	"maps"
	"slices"
	"strconv"
	"strings"
	"sync"

	"golang.org/x/sys/unix"
)

// escapees knows the processes that have left the cgroup of their job. Each tree that ends
// by itself checks the orphans of this process, which takes one call if there are none. So
// a new orphan is of a job that had not ended at the check before, or descends from an
// orphan that was known then. Where that leaves one job, the orphan is its
// (docs/decisions/062-processes-that-leave-their-cgroup.md).
type escapees struct {
	h        *platform
	children int // the children of the main thread: all orphans, seldom a main process; -1: not readable

	mu      sync.Mutex
	buf     [4096]byte
	inside  map[int]string  // orphans in a cgroup of a job, by its name
	outside map[int]*orphan // those in none, and processes that become such
	past    []*orphan       // of outside, reaped; their children may not have been seen
	blind   bool            // a tree has ended, and not all orphans were seen
	scans   int             // in progress
	reaped  map[int]bool    // during them
}

// orphan is a process that is in no cgroup of a job.
type orphan struct {
	proc
	job *job // nil: unknown
}

// maxNewOrphans bounds the orphans that one check reads. More appear when many trees are
// killed, and end.
const maxNewOrphans = 32

func newEscapees(h *platform) *escapees {
	return &escapees{h: h, children: -1, inside: map[int]string{}, outside: map[int]*orphan{}}
}

// open begins the checks. Without cgroups each tree that ends is looked for by a scan.
func (e *escapees) open() {
	if e.h.cgroups == nil {
		return
	}
	fd, err := e.h.sys.OpenAt(unix.AT_FDCWD, procPath(e.h.self.pid, "task/"+strconv.Itoa(e.h.self.pid)+"/children"), unix.O_RDONLY)
	if err == nil {
		e.children = fd
	}
}

func (e *escapees) close() {
	if e.children >= 0 {
		_ = e.h.sys.Close(e.children)
	}
}

// check looks for orphans that are in no cgroup of a job. mine: one that is known is of
// this job. news: one is new, and a scan must find its job.
func (e *escapees) check(j *job, cgroup string) (mine, news bool) {
	if e.children < 0 {
		return false, false
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	for range maxChecks {
		n, err := e.h.sys.Pread(e.children, e.buf[:])
		if err == nil && n == 0 && len(e.inside)+len(e.outside)+len(e.past) == 0 {
			return false, false
		}
		if err != nil || n == len(e.buf) {
			break
		}
		var c checked
		e.checkList(e.buf[:n], j, cgroup, &c)
		switch {
		case c.many:
			e.blind = true
			return c.mine || e.omits(j), c.news
		case !c.again:
			if !c.news {
				e.past = nil
			}
			return c.mine || e.omits(j), c.news
		}
	}
	e.blind = true
	return false, false
}

// maxChecks bounds the repetitions of a check or a scan during which orphans end: their
// children may not have been listed. A scan without cgroups repeats short lists until it has
// read maxListed orphans: in a chain of forks each list may show a process that ends meanwhile.
const (
	maxChecks = 4
	maxListed = 1000
)

// checked is what one list of orphans shows.
type checked struct {
	mine, news  bool
	many, again bool // more new ones than a check reads; one has ended meanwhile
	seen        int
}

func (e *escapees) checkList(pids []byte, j *job, cgroup string, c *checked) {
	for f := range bytes.FieldsSeq(pids) {
		pid, _ := strconv.Atoi(string(f))
		o, in := e.outside[pid], e.inside[pid]
		switch {
		case o != nil:
			c.mine = c.mine || o.job == j
			continue
		case in != "" && in != cgroup || e.h.reaper.isKnown(pid):
			continue
		case in == "":
			c.seen++
		}
		if c.seen > maxNewOrphans {
			c.many = true
			return
		}
		switch now, err := e.cgroupOf(pid); {
		case err != nil:
			c.again = true
		case now == "":
			c.news = true
		case in == "":
			e.inside[pid] = now
		}
	}
}

// hasOrphan reports whether a known orphan lives. The kernel's list of children can omit one while
// a sibling is reaped. The caller holds mu.
func (e *escapees) hasOrphan(o *orphan) bool {
	now, ok := statProc(e.h.sys, o.pid)
	return ok && !now.dead() && now.start == o.start && now.ppid == e.h.self.pid
}

// omits reports whether an orphan of a job lives, although no list has it. The caller holds mu.
func (e *escapees) omits(j *job) bool {
	for _, o := range e.outside {
		if o.job == j && e.hasOrphan(o) {
			return true
		}
	}
	return false
}

// cgroupOf returns the name of the job's cgroup that a process is in; "": it is in none.
func (e *escapees) cgroupOf(pid int) (string, error) {
	if e.h.cgroups == nil {
		return "", nil
	}
	text, err := readFile(e.h.sys, unix.AT_FDCWD, procPath(pid, "cgroup"))
	if err != nil {
		return "", err
	}
	// 4:memory:/, 0::/user.slice/troupe-NODE-OWNER/12
	_, path, _ := strings.Cut("\n"+string(text), "\n0::")
	path, _, _ = strings.Cut(path, "\n")
	_, below, _ := strings.Cut(path, "/"+e.h.cgroups.name+"/")
	name, _, _ := strings.Cut(below, "/")
	return name, nil
}

// of returns the processes of a job that are known to be in no cgroup.
func (e *escapees) of(j *job) (procs []proc) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for _, o := range e.outside {
		if o.job == j {
			procs = append(procs, o.proc)
		}
	}
	return procs
}

// add records a process in no cgroup, unless it was reaped during this scan. It reports
// whether that is new.
func (e *escapees) add(p proc, j *job) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	o := e.outside[p.pid]
	if o != nil && o.start == p.start {
		o.job = cmp.Or(o.job, j)
		return false
	}
	if e.reaped[p.pid] {
		return false
	}
	e.outside[p.pid] = &orphan{p, j}
	return true
}

// find returns what is known of an orphan, and the name of the cgroup in which it was seen.
func (e *escapees) find(p proc) (o *orphan, cgroup string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if o = e.outside[p.pid]; o != nil && o.start != p.start {
		o = nil
	}
	return o, e.inside[p.pid]
}

// reap records that an orphan was reaped, and reports whether a job may wait for that.
func (e *escapees) reap(pid int) bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.scans > 0 {
		e.reaped[pid] = true
	}
	delete(e.inside, pid)
	o := e.outside[pid]
	if o != nil {
		delete(e.outside, pid)
		e.past = append(e.past, o)
	}
	return o != nil || e.scans > 0 || e.h.cgroups == nil
}

// forget drops the processes of a job that has ended. Those that no signal has reached may
// have children: they stay, as processes of no job.
func (e *escapees) forget(j *job) {
	e.mu.Lock()
	defer e.mu.Unlock()
	for pid, o := range e.outside {
		if o.job != j {
			continue
		}
		o.job = nil
		if now, ok := statProc(e.h.sys, pid); !ok || now.dead() || now.start != o.start {
			delete(e.outside, pid)
		}
	}
}

// scan is a scan of all orphans.
type scan struct {
	*escapees
	past   []*orphan    // of escapees, when the orphans were listed
	dead   map[int]bool // without cgroups: orphans found dead in a list
	lists  int
	listed int // orphans in all lists
}

func (e *escapees) begin() *scan {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.scans++; e.scans == 1 {
		e.reaped = map[int]bool{}
	}
	return &scan{escapees: e, dead: map[int]bool{}}
}

// list lists the orphans. Those that were reaped before have their children in the list.
func (s *scan) list() (pids []int, failed error) {
	s.mu.Lock()
	s.past = slices.Clone(s.escapees.past)
	s.mu.Unlock()
	s.lists++
	all, failed := s.h.reaper.children()
	pids = s.h.reaper.orphanPIDs(all)
	s.listed += len(pids)
	s.mu.Lock()
	defer s.mu.Unlock()
	for pid, o := range s.outside {
		if !slices.Contains(pids, pid) && s.hasOrphan(o) {
			pids = append(pids, pid)
		}
	}
	for _, o := range s.escapees.past {
		if s.scans == 1 && !slices.Contains(pids, o.pid) { // else another scan has added it
			s.past = append(s.past, o)
		}
	}
	return pids, failed
}

// hasEnded records that an orphan of the list has ended, and reports whether its children
// may be missing in it.
func (s *scan) hasEnded(pid int) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.h.cgroups == nil {
		known := s.dead[pid] // and so was dead when the orphans were listed again
		s.dead[pid] = true
		return !known && (s.lists < maxChecks || s.listed < maxListed)
	}
	if o := s.outside[pid]; o != nil {
		delete(s.outside, pid)
		s.escapees.past = append(s.escapees.past, o)
	}
	return slices.ContainsFunc(s.escapees.past, func(o *orphan) bool { return o.pid == pid && !slices.Contains(s.past, o) })
}

// end ends a scan. complete: it has seen every orphan, and so the children of those that
// had been reaped before.
func (s *scan) end(complete bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.scans--
	if complete {
		s.blind = false
		s.escapees.past = slices.DeleteFunc(s.escapees.past, func(o *orphan) bool { return slices.Contains(s.past, o) })
	}
}

// origins returns the jobs from which a new orphan can descend, and whether these are all.
// live are the jobs that have not ended.
func (e *escapees) origins(p proc, live []*job) (jobs []*job, all bool) {
	e.mu.Lock()
	defer e.mu.Unlock()
	all = !e.blind
	for _, o := range slices.AppendSeq(slices.Clone(e.past), maps.Values(e.outside)) {
		all = all && (o.pid == p.pid || slices.Contains(live, o.job)) // else it may be the parent
	}
	for _, j := range live {
		if j.proc.start <= p.start {
			jobs = append(jobs, j)
		}
	}
	return jobs, all
}
