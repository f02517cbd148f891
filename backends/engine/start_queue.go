package engine

import (
	"sync"
	"time"

	"troupe/backends"
	"troupe/messages"
)

// startQueue queues forks and runs a few at a time, in order. A fork and exec takes 0.7
// ms, too long for an actor. More concurrent forks than CPUs only wait for each other.
type startQueue struct {
	e *Local

	mu     sync.Mutex
	wake   *sync.Cond
	queue  []*job
	idle   int // waiting workers
	alive  int
	closed bool
}

// maxQueued bounds the queue. Admission refuses jobs long before.
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

// call starts or wakes a worker. Idle workers may already be called for earlier jobs.
// The caller holds mu.
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

// next waits for a job; nil: the queue is closed.
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

// close lets the workers end after the queue is empty.
func (s *startQueue) close() {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.closed = true
	if s.wake != nil {
		s.wake.Broadcast()
	}
}

// Attempts of a fork that fails with EAGAIN: the limit of processes may be free again soon.
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
	if try == 1 {
		j.recordStarting()
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

// claim takes a queued job for its fork, unless it was stopped.
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

// release queues a job again, unless it was stopped meanwhile.
func (j *job) release() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.escalation != nil {
		return false
	}
	j.phase = phaseQueued
	return true
}

// retry pushes the job again after pause, unless it is stopped before.
func (j *job) retry(pause time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.phase == phaseQueued {
		j.pause = time.AfterFunc(pause, func() { j.engine.queue.push(j) })
	}
}

// child is the result of a fork.
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

// forked assigns the process to the job. The platform calls it before the exit can be
// seen, so that the start is reported first (F45).
func (j *job) forked(c child) {
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
	j.idle.begin()
	j.enqueue(messages.ProcessStarted{PID: c.pid, StartTime: c.start, At: now, Isolation: c.tree.isolation()})
}

// begun starts what waited for the process, which may have exited by now.
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

// failed ends a job that has no process.
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
