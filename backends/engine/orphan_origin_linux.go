package engine

import (
	"bytes"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// errUnseen reports a scan that could not inspect an existing process.
var errUnseen = errors.New("a process cannot be looked at")

// look returns the live orphans by job, without those in its cgroup; under nil those of no
// known job. After an error, orphans may be missing or assigned wrongly.
func (w *orphanScanner) look() (found map[*job][]proc, failed error) {
	s := w.escapees.begin()
	defer func() { s.end(failed == nil) }()
	for again := true; again; {
		found, again, failed = w.lookOnce(s)
	}
	return found, failed
}

// lookOnce lists the orphans and finds their jobs. again: some may not be in the list, since
// their parent has ended meanwhile.
func (w *orphanScanner) lookOnce(s *scan) (found map[*job][]proc, again bool, failed error) {
	found = make(map[*job][]proc)
	pids, failed := s.list()
	var jobs *liveJobs
	for _, pid := range pids {
		p, ok := statProc(w.platform.sys, pid)
		if !ok && w.platform.sys.Kill(pid, 0) == nil {
			failed = errUnseen
		}
		if !ok || p.dead() {
			again = s.hasEnded(pid) || again
			continue
		}
		if jobs == nil {
			jobs = w.live()
		}
		j, in, err := w.origin(p, jobs)
		if err != nil {
			failed = err
		}
		if !in {
			found[j] = append(found[j], p)
		}
	}
	return found, again, failed
}

// liveJobs are the jobs that have not ended. Those that run in a live shell are not among
// them: the shell is.
type liveJobs struct {
	all      []*job
	sessions map[int]*job    // by the process session of the main process
	cgroups  map[string]*job // by the name of the cgroup
	starting bool            // one is being forked
	looks    int             // left for processes in an exec
}

func (w *orphanScanner) live() *liveJobs {
	l := &liveJobs{sessions: make(map[int]*job), cgroups: make(map[string]*job), looks: execLooks}
	for _, j := range w.platform.engine.all() {
		j.mu.Lock()
		alive := (j.phase == phaseRunning || j.phase == phaseExited && !j.treeGone) && j.command == nil
		l.starting = l.starting || j.phase == phaseForking && j.spec != nil && j.spec.In == ""
		t, _ := j.tree.(*cgroupTree)
		j.mu.Unlock()
		if !alive {
			continue
		}
		l.all = append(l.all, j)
		if t != nil {
			l.cgroups[t.cg.name] = j
		}
		if old := l.sessions[j.proc.pid]; old == nil || old.proc.start < j.proc.start { // the number may be used again
			l.sessions[j.proc.pid] = j
		}
	}
	return l
}

// origin returns the job of an orphan; in: it is in the job's cgroup. nil: it is not known.
// A process cannot get rid of its descent, but of its tag, its process session and its
// cgroup: they are read when it is seen first.
func (w *orphanScanner) origin(p proc, jobs *liveJobs) (j *job, in bool, failed error) {
	known, was := w.escapees.find(p)
	if known != nil && known.job != nil {
		return known.job, false, nil
	}
	cgroup, _ := w.escapees.cgroupOf(p.pid)
	j, failed = w.tagOf(p.pid, &jobs.looks)
	switch owner := jobs.cgroups[cgroup]; {
	case owner != nil && (j == nil || j == owner):
		return owner, true, failed
	case failed != nil, cgroup != "":
		return j, false, failed
	case j == nil && jobs.cgroups[was] != nil && jobs.cgroups[was].proc.start <= p.start:
		j = jobs.cgroups[was]
	case j == nil:
		j = jobs.sessions[p.sid]
	}
	if j != nil || known != nil {
		w.escapees.add(p, j)
		return j, false, nil
	}
	origins, all := w.escapees.origins(p, jobs.all)
	if all && !jobs.starting && len(origins) == 1 {
		j = origins[0]
	}
	if w.escapees.add(p, j) && j == nil {
		w.nameOrphan(p, origins)
	}
	return j, false, nil
}

// nameOrphan reports an orphan whose job cannot be known. Jobs that it may belong to and whose
// main process has exited get a flag.
func (w *orphanScanner) nameOrphan(p proc, origins []*job) {
	comm, _ := readFile(w.platform.sys, unix.AT_FDCWD, procPath(p.pid, "comm"))
	var ids []string
	for _, j := range origins {
		ids = append(ids, string(j.id))
		j.mu.Lock()
		if j.phase == phaseExited {
			j.flag(messages.FlagTreeUnverified)
		}
		j.mu.Unlock()
	}
	may := "of a job that has ended"
	if len(ids) > 0 {
		may = "of job " + strings.Join(ids, " or ")
	}
	w.platform.engine.report("", &messages.Error{
		Code: messages.Refused, Reason: ReasonEscaped,
		Message: fmt.Sprintf("process %d (%s) has left the tree of its job, and is %s", p.pid, bytes.TrimSpace(comm), may),
		Hint:    "no stop reaches it; end it by its number if it is not needed",
	})
}
