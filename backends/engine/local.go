package engine

import (
	"context"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"troupe/backends"
	"troupe/messages"
)

// Local is the engine that runs jobs in this process. It is safe for concurrent use.
type Local struct {
	opt    Options
	host   *platform
	seq    atomic.Uint64 // number of the last fact
	work   taskGroup
	stops  chan struct{} // see bounded
	queue  startQueue
	enders killPool
	done   chan struct{} // closed when the engine ends

	mu      sync.Mutex
	closing bool
	jobs    map[messages.UID]*job
}

// stopsAtOnce bounds how many jobs are stopped at a time. Each system call may hold a
// thread, and kills of cgroups wait for one kernel lock. A wait for a scan of the
// process table holds no thread and does not count.
const stopsAtOnce = 16

// New starts an engine. It kills and removes what dead engines left in cgroups beside
// its own. Missing kernel features cause no error: Features lists what it found.
func New(o Options) (*Local, error) {
	o, err := o.complete()
	if err != nil {
		return nil, err
	}
	e := &Local{
		opt: o, jobs: make(map[messages.UID]*job),
		stops: make(chan struct{}, stopsAtOnce), done: make(chan struct{}),
	}
	e.queue.e, e.enders.e = e, e
	e.seq.Store(o.After)
	if e.host, err = newHost(e); err != nil {
		return nil, err
	}
	return e, nil
}

// Features returns what the engine can use on this machine.
func (e *Local) Features() Features { return e.host.features() }

// Start implements backends.Engine. A job stopped before its fork fails with the code
// refused and the reason stopped; nothing of it ran.
func (e *Local) Start(s backends.Spec, facts backends.FactHandler) backends.Process {
	e.mu.Lock()
	if j := e.jobs[s.ID]; j != nil {
		e.mu.Unlock()
		return j.adopt(facts)
	}
	b := backends.Bind(facts)
	j := newJob(e, s, b)
	refusal := e.refuse(s)
	if refusal == nil || refusal.err.Code != messages.ShuttingDown {
		e.jobs[s.ID] = j
	}
	e.mu.Unlock()
	switch {
	case refusal != nil:
		e.run(j, func() { j.failed(refusal) })
	default:
		j.setDeadline(s.Deadline)
		e.queue.push(j)
	}
	return process{j, b}
}

// refuse makes the checks that need no process. The caller holds mu.
func (e *Local) refuse(s backends.Spec) *startError {
	switch {
	case e.closing:
		return refused(messages.ShuttingDown, "closing", "the engine is closing and starts nothing more")
	case s.ID == "":
		return refused(messages.InvalidParams, "id", "the job has no id; give it a ULID")
	case s.In != "":
		return refuseIn(s)
	case len(s.Argv) == 0 || s.Argv[0] == "":
		return refused(messages.InvalidParams, "empty_command", "there is no program to run; give its name or path")
	case len(s.Meta) > backends.MaxMeta:
		return refused(messages.TooLarge, "meta", "the meta of the job is too large")
	case s.Stdio.Terminal != messages.Terminal{}:
		if bad := badSize(s.Stdio.Terminal); bad != nil {
			return &startError{err: *bad, shell: shellNotExecutable}
		}
	}
	if s.Live != nil {
		return refuseLive(s)
	}
	return nil
}

// Adopt implements backends.Engine.
func (e *Local) Adopt(id messages.UID, facts backends.FactHandler) (backends.Process, error) {
	e.mu.Lock()
	j := e.jobs[id]
	e.mu.Unlock()
	if j == nil {
		return nil, &messages.Error{
			Code: messages.NotFound, Reason: "job",
			Message: "unknown job: the engine has no record of it",
		}
	}
	return j.adopt(facts), nil
}

// Inventory implements backends.Engine.
func (e *Local) Inventory(ctx context.Context) ([]backends.InventoryJob, error) {
	if err := ctx.Err(); err != nil {
		return nil, err
	}
	jobs := e.all()
	held := make([]backends.InventoryJob, 0, len(jobs))
	for _, j := range jobs {
		j.mu.Lock()
		h := backends.InventoryJob{ID: j.id, Meta: j.meta, Live: j.phase != phaseDone, Ended: j.toldExited || j.phase == phaseDone}
		if j.phase == phaseDone {
			h.Last = j.factQueue.last()
		}
		if j.shell != nil {
			h.Dir, h.Closed = j.cwd(), j.stoppedFor().By == messages.ByScope
		}
		held = append(held, h)
		j.mu.Unlock()
	}
	return held, nil
}

func (e *Local) find(id messages.UID) *job {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.jobs[id]
}

func (e *Local) count() int {
	e.mu.Lock()
	defer e.mu.Unlock()
	return len(e.jobs)
}

func (e *Local) all() []*job {
	e.mu.Lock()
	defer e.mu.Unlock()
	jobs := make([]*job, 0, len(e.jobs))
	for _, j := range e.jobs {
		jobs = append(jobs, j)
	}
	return jobs
}

// forget drops a job that has ended and is settled.
func (e *Local) forget(j *job) {
	if j.shell != nil {
		j.shell.remove()                     // while Close still finds the job
		_ = e.opt.Store.Remove(string(j.id)) // a shell's own output belongs to no job; it may not exist
	}
	e.mu.Lock()
	known := e.jobs[j.id] == j
	if known {
		delete(e.jobs, j.id)
	}
	e.mu.Unlock()
	if known && e.opt.Journal != nil {
		e.opt.Journal(Record{Kind: RecordForgotten, Job: j.id, At: time.Now()})
	}
}

// closeBound is how long Close waits beyond the escalation, to deliver facts and remove
// cgroups.
const closeBound = killTimeout + time.Second

// CanKeep implements backends.Engine. It returns false: after this process no other
// would read, reap or stop the jobs.
func (e *Local) CanKeep() bool { return false }

// Close implements backends.Engine. It kills every job, since jobs cannot outlive this
// process.
func (e *Local) Close(bool) []messages.Survivor {
	e.mu.Lock()
	first := !e.closing
	e.closing = true
	e.mu.Unlock()
	if !first {
		return nil
	}
	jobs := e.all()
	for _, j := range jobs {
		j.stop(messages.Cause{By: messages.ByShutdown, Reason: "the engine was closed"}, 0)
	}
	expired := make(chan struct{}) // for every job
	defer time.AfterFunc(closeBound, func() { close(expired) }).Stop()
	var left []messages.Survivor
	for _, j := range jobs {
		left = append(left, j.await(expired)...)
	}
	e.queue.close()
	for _, j := range jobs {
		j.dismiss()
	}
	left = append(left, e.host.endOrphans(len(left) == 0)...)
	close(e.done)
	e.host.close(len(left) > 0)
	e.work.wait()
	e.host.release()
	return slices.Clip(left)
}

// over reports whether the engine has ended.
func (e *Local) over() bool { return isClosed(e.done) }

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// run calls f in a goroutine, for a job.
func (e *Local) run(j *job, f func()) {
	e.work.join()
	go func() {
		defer e.work.leave()
		defer j.guard()
		f()
	}()
}

// after calls f in a goroutine, for a job, unless the engine has ended by then.
func (e *Local) after(j *job, d time.Duration, f func()) *time.Timer {
	return time.AfterFunc(d, func() {
		e.work.join()
		defer e.work.leave()
		defer j.guard()
		if !e.over() {
			f()
		}
	})
}

// background calls f in a goroutine of the engine.
func (e *Local) background(f func()) {
	e.work.join()
	go func() {
		defer e.work.leave()
		f()
	}()
}

// bounded calls f, which makes system calls that stop a job, at most stopsAtOnce at a
// time.
func (e *Local) bounded(f func()) {
	e.stops <- struct{}{}
	defer func() { <-e.stops }()
	f()
}

// taskGroup counts goroutines. Unlike a WaitGroup it can be joined during wait: a
// Process may be called during Close.
type taskGroup struct {
	mu   sync.Mutex
	n    int
	free chan struct{} // closed when n is 0; made by wait
}

func (c *taskGroup) join() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.n++
}

func (c *taskGroup) leave() {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.n--; c.n == 0 && c.free != nil {
		close(c.free)
		c.free = nil
	}
}

// wait returns when no goroutine is left.
func (c *taskGroup) wait() {
	c.mu.Lock()
	if c.n == 0 {
		c.mu.Unlock()
		return
	}
	if c.free == nil {
		c.free = make(chan struct{})
	}
	free := c.free
	c.mu.Unlock()
	<-free
}

func (e *Local) report(id messages.UID, fault error) {
	if e.opt.Fault != nil {
		e.opt.Fault(id, fault)
	}
}
