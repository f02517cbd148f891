package engine

import (
	"context"
	"os"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"troupe/backends/ports"
	"troupe/messages"
)

// liveJob is a job with the processes that it has at one moment.
type liveJob struct {
	*job
	tree  tree
	procs []proc
	now   *messages.LiveState // nil: not read
}

// Bounds of a reading: the jobs whose processes are listed at a time, and the goroutines that read.
// Jobs that are not in a cgroup share the scans of the process table.
const (
	listedAtOnce = 512
	liveReaders  = 4
)

// ReadLive implements backends.LiveReader. It reads the ports last.
func (e *Local) ReadLive(ctx context.Context, ids []messages.UID) map[messages.UID]messages.LiveState {
	e.work.join()
	defer e.work.leave()
	all := make(map[messages.UID]messages.LiveState, len(ids))
	if e.host.probed.NoProcesses != "" {
		return all
	}
	var jobs []*liveJob
	for some := range slices.Chunk(ids, listedAtOnce) {
		jobs = append(jobs, e.listLive(ctx, some)...)
	}
	forEach(ctx, jobs, (*liveJob).readState)
	var sockets ports.Reader
	forEach(ctx, jobs, func(l *liveJob) { l.readPorts(&sockets) })
	for _, l := range jobs {
		if l.now != nil {
			all[l.id] = *l.now
		}
	}
	return all
}

// forEach calls do for each job, for a few at a time, until ctx ends.
func forEach(ctx context.Context, jobs []*liveJob, do func(*liveJob)) {
	var next atomic.Int64
	var readers sync.WaitGroup
	for range min(runtime.GOMAXPROCS(0), liveReaders, len(jobs)) {
		readers.Go(func() {
			for i := next.Add(1) - 1; int(i) < len(jobs) && ctx.Err() == nil; i = next.Add(1) - 1 {
				do(jobs[i])
			}
		})
	}
	readers.Wait()
}

// listLive lists the processes of jobs.
func (e *Local) listLive(ctx context.Context, ids []messages.UID) (list []*liveJob) {
	later, waits := make(chan *liveJob, len(ids)), 0
	for _, id := range ids {
		j := e.find(id)
		if j == nil {
			continue
		}
		j.mu.Lock()
		l := &liveJob{job: j, tree: j.tree}
		over := j.phase == phaseDone
		j.mu.Unlock()
		switch {
		case l.tree == nil || over:
		case l.tree.isolation() == messages.InCgroup:
			list = append(list, l)
		case ctx.Err() == nil: // it waits for a scan
			waits++
			e.run(j, func() {
				l.list()
				later <- l
			})
		}
	}
	forEach(ctx, list, (*liveJob).list)
	for range waits {
		select {
		case l := <-later:
			list = append(list, l)
		case <-ctx.Done():
			return list
		}
	}
	return list
}

// list lists the processes of the job.
func (l *liveJob) list() {
	defer l.guard()
	if t, is := l.tree.(interface{ members() []proc }); is {
		l.procs = t.members()
	} else {
		l.procs = l.engine.host.processesOf(l.tree)
	}
}

// readState reads what the processes use, and whether one waits for input.
func (l *liveJob) readState() {
	defer l.guard()
	now := messages.LiveState{Awaiting: l.awaits(), Processes: len(l.procs)}
	for _, p := range l.procs {
		now.CPU += time.Duration(p.used) * tick
		now.Memory += p.resident * int64(os.Getpagesize())
	}
	l.now = &now
}

// readPorts reads the ports on which the processes listen.
func (l *liveJob) readPorts(sockets *ports.Reader) {
	defer l.guard()
	if l.now != nil {
		l.now.Ports = sockets.Of(pidsOf(l.procs))
	}
}

// awaits returns what the job waits for on its input; "": unknown, or it has none.
func (l *liveJob) awaits() messages.Awaiting {
	l.mu.Lock()
	none := l.input == nil || l.phase != phaseRunning
	l.mu.Unlock()
	if none || l.engine.host.reads() == "" {
		return ""
	}
	p := l.probeInput(l.readers)
	l.mu.Lock()
	defer l.mu.Unlock()
	switch {
	case p.seen == blind:
		return ""
	case p.seen != reads || p.stale(l.input):
		return messages.AwaitsNothing
	case p.secret:
		return messages.AwaitsSecret
	}
	return messages.AwaitsInput
}

// readers returns the processes that may read the input. The shell is one of those of a command in
// it.
func (l *liveJob) readers() []int {
	if _, in := l.tree.(*shellCommandTree); in {
		return l.tree.pids()
	}
	return pidsOf(l.procs)
}
