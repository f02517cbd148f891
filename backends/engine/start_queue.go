package engine

import (
	"sync"
	"time"

	"troupe/backends"
	"troupe/messages"
)

// startQueue is the queue in front of the forks: in order, a few at a time. A fork and exec
// takes 0.7 ms, which is too long for an actor. More forks at once than there are CPUs only
// wait for each other.
type startQueue struct {
	e *Local

	mu     sync.Mutex
	wake   *sync.Cond
	queue  []*job
	idle   int // workers that wait
	alive  int
	closed bool
}

// maxQueued bounds the queue. Admission refuses jobs long before it is full.
const maxQueued = 1 << 15

func (s *startQueue) push(j *job) {
	s.mu.Lock()
	if s.wake == nil {
		s.wake = sync.NewCond(&s.mu)
	}
	closed, full := s.closed, len(s.queue) >= maxQueued
	if !closed && !full {
		s.queue = append(s.queue, j)
		s.call()
	}
	s.mu.Unlock()
	switch {
	case closed:
		s.e.run(j, func() {
			j.failed(refused(messages.ShuttingDown, "closing", "the engine is closing and starts nothing more"))
		})
	case full:
		s.e.run(j, func() {
			j.failed(refused(messages.ResourceExhausted, "queue", "too many jobs wait for their start; try again later"))
		})
	}
}

// call sees to it that a worker comes: one that waits was called by the job before,
// perhaps, and has not come yet. Called with mu.
func (s *startQueue) call() {
	if s.idle < len(s.queue) && s.alive < s.e.opt.Spawners {
		s.alive++
		s.e.background(s.worker)
		return
	}
	s.wake.Signal()
}

func (s *startQueue) worker() {
	for {
		j := s.next()
		if j == nil {
			return
		}
		launchSafely(j)
	}
}

func launchSafely(j *job) {
	defer j.guard()
	j.launch()
}

// next waits for a job; nil is the end.
func (s *startQueue) next() *job {
	s.mu.Lock()
	defer s.mu.Unlock()
	for len(s.queue) == 0 {
		if s.closed {
			s.alive--
			return nil
		}
		s.idle++
		s.wake.Wait()
		s.idle--
	}
	j := s.queue[0]
	s.queue[0] = nil
	s.queue = s.queue[1:]
	return j
}

// close lets the workers end when the queue is empty.
func (s *startQueue) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.wake != nil {
		s.wake.Broadcast()
	}
}

// The tries of a fork that fails with EAGAIN: a limit of processes may be free again soon,
// and a job must not retry for ever.
const (
	maxForks   = 3
	forkPause  = 10 * time.Millisecond
	forkFactor = 4
)

// launch starts the process of a job, in a worker.
func (j *job) launch() {
	spec, try := j.claim()
	if spec == nil {
		return
	}
	if spec.In != "" {
		j.enter(spec)
		return
	}
	var streams []*stream
	fail := j.write(spec)
	if fail == nil && spec.Live != nil {
		fail = j.makeShellDir(spec)
	}
	if fail == nil {
		streams, fail = j.engine.host.spawn(j, spec)
	}
	switch {
	case fail == nil:
		j.begun(streams)
	case fail.again && try < maxForks && j.release():
		pause := forkPause
		for range try - 1 {
			pause *= forkFactor
		}
		j.retry(pause)
	default:
		j.failed(fail)
	}
}

// claim takes a job out of its waiting, if nobody has stopped it.
func (j *job) claim() (spec *backends.Spec, try int) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.phase != phaseQueued {
		return nil, 0
	}
	j.phase = phaseForking
	j.forks++
	return j.spec, int(j.forks)
}

// release puts a job back into its waiting, unless it was stopped meanwhile.
func (j *job) release() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.escalation != nil {
		return false
	}
	j.phase = phaseQueued
	return true
}

// retry pushes the job again, unless it is stopped before.
func (j *job) retry(pause time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.phase == phaseQueued {
		j.pause = time.AfterFunc(pause, func() { j.engine.queue.push(j) })
	}
}

// child is what a fork has made.
type child struct {
	pid     int
	start   uint64
	pidfd   int // -1: none
	tree    tree
	streams []*stream
	stdin   *pipeEnd
	term    *terminal
	oom     int64
	flags   []messages.Flag
}

// born makes the process the job's. The host calls it before it can learn of
// the exit, so that the start is said first (F45).
func (j *job) born(c child) {
	now := time.Now()
	j.proc.mu.Lock()
	j.proc.pid, j.proc.start, j.proc.pidfd = c.pid, c.start, int32(c.pidfd)
	j.proc.mu.Unlock()
	j.recordStart(now, c)
	j.mu.Lock()
	defer j.mu.Unlock()
	j.phase, j.spec = phaseRunning, nil
	j.tree, j.streams, j.postFork.oom = c.tree, c.streams, c.oom
	j.term = c.term
	if j.input != nil {
		j.input.end = c.stdin
	}
	for _, f := range c.flags {
		j.flag(f)
	}
	if j.shell != nil {
		j.shell.begin()
	}
	j.enqueue(messages.ProcessStarted{PID: c.pid, StartTime: c.start, At: now, Isolation: c.tree.isolation()})
}

// begun does what waited for the start. The process may be over by now.
func (j *job) begun(streams []*stream) {
	for _, s := range streams {
		s.begin()
	}
	j.mu.Lock()
	if l := j.escalation; l != nil && !l.running && !j.treeGone {
		j.startEscalation()
	}
	live := j.shell
	j.mu.Unlock()
	if live != nil {
		live.setStarted()
	}
	j.work()
	j.tellHelping()
}

// failed is the end of a job of which no process exists.
func (j *job) failed(f *startError) {
	j.mu.Lock()
	if j.pause != nil {
		j.pause.Stop()
	}
	if j.phase != phaseDone {
		j.phase, j.spec = phaseDone, nil
		j.toldClosed, j.toldEnded, j.toldExited = true, true, true
		if j.escalation != nil {
			f = stoppedEarly()
			j.escalation.ended(&j.engine.enders)
		}
		seq := j.engine.seq.Add(1)
		j.enqueueKept(seq, messages.ProcessFailed{Seq: seq, Err: f.err, Shell: f.shell, At: time.Now()})
	}
	in, live := j.command, j.shell
	j.mu.Unlock()
	if in != nil {
		in.leave()
	}
	j.update(func() {})
	j.removeScratch()
	if live != nil {
		live.startFailed(f)
	}
}
