package engine

import (
	"errors"
	"fmt"
	"runtime"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// statusOf translates a wait status.
func statusOf(ws unix.WaitStatus) messages.ExitStatus {
	if ws.Signaled() {
		sig := syscall.Signal(ws.Signal())
		return messages.ExitStatus{Signal: signalName(sig), Number: int(sig)}
	}
	return messages.ExitStatus{Code: ws.ExitStatus()}
}

// rusageOf translates a resource usage.
func rusageOf(u *unix.Rusage) messages.Rusage {
	return messages.Rusage{
		User:   time.Duration(u.Utime.Nano()),
		System: time.Duration(u.Stime.Nano()),
		MaxRSS: maxRSS(u),
	}
}

// reap takes the main process out of the process table; the host calls it when
// the exit was seen and the process is a zombie still. A status that somebody
// else has taken is asked for again; one that nobody knows is not made up in silence.
func (j *job) reap() {
	now := time.Now()
	j.pass(pointExit)
	end := mainExit{at: now}
	if j.engine.opt.Journal != nil && j.peekExit(&end) {
		j.recordExit(end)
	}
	var ws unix.WaitStatus
	var usage unix.Rusage
	err := j.proc.reap(func() error {
		_, err := j.engine.opt.Sys.Wait4(j.proc.pid, &ws, 0, &usage)
		if err != nil && j.proc.recall(&ws) {
			err = nil
		}
		return err
	})
	if err != nil {
		j.fault(errors.New("the exit status was taken by somebody else: the host waits for children that are not its own"))
		end.status = messages.ExitStatus{Code: 255}
	} else {
		end.status, end.rusage = statusOf(ws), rusageOf(&usage)
	}
	j.pass(pointReaped)
	j.ended(end)
}

// reapSafely is reap for a goroutine that serves all jobs.
func (j *job) reapSafely() {
	defer j.guard()
	j.reap()
}

// pass passes a named point at which nothing may go wrong: an error or a panic
// only marks the job.
func (j *job) pass(point string) {
	defer j.guard()
	if err := j.engine.opt.at(point); err != nil {
		j.fault(err)
	}
}

// ended takes the end of the main process: its output is drained, then the
// result is due. It is called in the reaper's goroutine and does what is quick
// there; everything else gets a goroutine of its own.
func (j *job) ended(end mainExit) {
	j.mu.Lock()
	if j.exit != nil { // given up before: the result was told
		j.mu.Unlock()
		j.proc.close()
		return
	}
	j.exit, j.phase = &end, phaseExited
	j.input.ackWritten()
	j.controls.refuseRest()
	j.sayAnswers()
	stdin, recorded := j.input.shut(), j.recorded
	j.input.reportWaiting(j, false, false)
	slow := j.postFork.sync || len(j.postFork.scratch) > 0 || j.engine.opt.Failpoint != nil
	streams := j.streams
	j.mu.Unlock()
	if j.engine.opt.Journal != nil && !recorded {
		j.recordExit(end)
	}
	stdin.close()
	if j.shell != nil {
		j.shell.shellExited(end)
	}
	if slow || !j.quickly(streams) {
		j.reportMainExit()
		j.engine.run(j, func() { j.drain(streams) })
		return
	}
	j.collected()
}

// reportMainExit says that the main process has exited although its result is not there.
func (j *job) reportMainExit() {
	j.mu.Lock()
	j.reportMainWaits()
	j.mu.Unlock()
	j.tell()
}

// quick drains streams that take no time: their pipes are empty, or little is
// in them and the log is small. It reports whether all are drained.
func quick(streams []*stream) bool {
	for _, s := range streams {
		if !s.drainQuickly() {
			return false
		}
	}
	return true
}

// quickly is quick, in which a fault is one more reason to take time.
func (j *job) quickly(streams []*stream) (all bool) {
	defer j.guard()
	return quick(streams)
}

// drainBound is how long a full store may hold back a result. What is left in the pipe then
// is captured when there is room.
const drainBound = 30 * time.Second

// drain collects what the main process wrote, with time for a slow store.
func (j *job) drain(streams []*stream) {
	defer j.reportUndrained()
	j.pass(pointDrain)
	j.removeScratch()
	expired, done := j.drainTimeout()
	defer done()
	stuck := false
	for _, s := range streams {
		stuck = !j.drainSafely(s, expired) || stuck
	}
	if j.postFork.sync {
		for _, s := range streams {
			if err := s.sync(); err != nil {
				j.fault(err)
			}
		}
	}
	j.mu.Lock()
	j.drainBlocked = stuck
	j.mu.Unlock()
	j.collected()
}

// drainTimeout ends after drainBound, and for a job that is being stopped, before or
// meanwhile, soon: whoever stops it wants its end, not its output.
func (j *job) drainTimeout() (expired <-chan struct{}, done func()) {
	j.mu.Lock()
	defer j.mu.Unlock()
	bound := drainBound
	if j.escalation != nil {
		bound = lastDrainBound
	}
	end := make(chan struct{})
	j.draining = time.AfterFunc(bound, func() { close(end) })
	return end, func() {
		j.mu.Lock()
		defer j.mu.Unlock()
		j.draining.Stop()
		j.draining = nil
	}
}

// shortenDrain shortens the patience of a drain. Called with mu.
func (j *job) shortenDrain() {
	if j.draining != nil && j.draining.Stop() {
		j.draining.Reset(lastDrainBound)
	}
}

// reportUndrained tells a result whose drain has failed: a job ends, whatever happens.
func (j *job) reportUndrained() {
	if r := recover(); r != nil {
		j.fault(fmt.Errorf("the drain panicked: %v", r))
		j.collected()
	}
}

// collected looks at what is left of the tree, and reports.
func (j *job) collected() { j.tree.count(j.counted) }

// How long a job of which nobody is left waits for the end of its output beside
// the forks that are known: a child holds every pipe of this process until its
// exec has closed them, a moment after its fork is over, and somebody else here may
// have forked. Where the whole tree is seen hardly anything else can hold it, and
// only a loaded machine takes so long; of a group somebody may have gone off with it.
const (
	lingerWhole = 200 * time.Millisecond
	lingerGroup = 20 * time.Millisecond
)

// counted takes how many processes outlived the main one; empty says that
// nothing of the tree is left. The last of them may be dying still: it is in the
// tree, and nobody any more.
func (j *job) counted(left int, empty bool) {
	j.mu.Lock()
	streams := j.streams
	j.mu.Unlock()
	if left > 0 || allSealed(streams) {
		j.report(left, empty)
		return
	}
	j.reportMainExit()
	j.engine.run(j, func() {
		j.engine.host.settleForks()
		j.checkOutputEnds(streams)
		if !allSealed(streams) {
			waitOutputEnd(streams, j.lingerBound())
			j.checkOutputEnds(streams) // they may be there, and a busy engine has not seen them
		}
		j.tree.count(j.report)
	})
}

// checkOutputEnds takes what is in the pipes, and sees whether anybody is left to
// write, however long a log may take.
func (j *job) checkOutputEnds(streams []*stream) {
	expired := make(chan struct{})
	close(expired) // for a store without room a job has waited already
	for _, s := range streams {
		j.drainSafely(s, expired)
	}
}

// drainSafely is drain for one of several streams: the others do not notice its
// fault, which is not that of a full store.
func (j *job) drainSafely(s *stream, expired <-chan struct{}) (drained bool) {
	drained = true
	defer j.guard()
	return s.drain(expired)
}

func (j *job) lingerBound() time.Duration {
	if j.tree.isolation() == messages.Group {
		return lingerGroup
	}
	return lingerWhole
}

// waitOutputEnd waits a moment for the ends of outputs.
func waitOutputEnd(streams []*stream, bound time.Duration) {
	t := time.NewTimer(bound)
	defer t.Stop()
	for _, s := range streams {
		select {
		case <-s.ended.channel():
		case <-t.C:
			return
		}
	}
}

func allSealed(streams []*stream) bool {
	for _, s := range streams {
		if !s.sealed.Load() {
			return false
		}
	}
	return true
}

// report tells the result: all of it at once, if nothing of the job is left.
func (j *job) report(left int, empty bool) {
	var kill, all bool
	clean := j.change(func() {
		j.drained, j.leftovers = true, int32(left)
		j.exit.oom = j.tree.oom(j.exit.status, j.postFork.oom)
		if all = empty && j.escalation == nil && j.outputClosed(); all {
			j.treeGone = true
		}
		kill = !empty && j.postFork.onExit == messages.KillChildren && j.escalation == nil
	})
	j.tellHelping()
	runtime.Gosched() // whoever was told goes first, then the cleaning
	if clean {
		j.clean()
	} else if j.tree.isolation() != messages.Group { // else its number is still needed
		j.proc.close()
	}
	j.forgetIfOver()
	if all {
		return
	}
	if empty {
		j.treeEmpty()
		return
	}
	if kill {
		j.stop(messages.Cause{By: messages.BySystem, Reason: "its main process has exited"}, 0)
	}
	j.tree.await(j.treeEmpty)
}

// treeEmpty hears that no process of the job is left. What was stopped is
// verified: a process may have left the cgroup and be a descendant still.
func (j *job) treeEmpty() {
	j.mu.Lock()
	stopped := j.escalation != nil
	j.mu.Unlock()
	if !stopped {
		j.treeEnds(nil)
		return
	}
	j.engine.host.verify(j, func() { j.treeEnds(nil) })
}

// treeEnds is the end of the tree: nothing is left, or the survivors are named.
// What its last processes wrote is collected first.
func (j *job) treeEnds(survivors []messages.Survivor) {
	j.mu.Lock()
	streams := j.streams
	j.mu.Unlock()
	if j.quickly(streams) {
		j.treeEnded(streams, survivors)
		return
	}
	j.engine.run(j, func() {
		expired := make(chan struct{}) // for every stream
		defer time.AfterFunc(lastDrainBound, func() { close(expired) }).Stop()
		for _, s := range streams {
			j.drainSafely(s, expired)
		}
		j.treeEnded(streams, survivors)
	})
}

// lastDrainBound is part of the half second that a stop may take beside its grace and the
// two seconds after KILL.
const lastDrainBound = 200 * time.Millisecond

func (j *job) treeEnded(streams []*stream, survivors []messages.Survivor) {
	for _, s := range streams {
		s.abandonIfHung()
		s.hangUp()
	}
	j.update(func() {
		if j.treeGone {
			return
		}
		j.treeGone, j.survivors = true, survivors
		j.escalation.ended(&j.engine.enders)
	})
}

// removeScratch removes the file that only the main process needed.
func (j *job) removeScratch() {
	j.mu.Lock()
	file := j.postFork.scratch
	j.postFork.scratch = ""
	j.mu.Unlock()
	if file == "" {
		return
	}
	if err := j.engine.opt.Sys.Unlink(file); err != nil && errno(err) != unix.ENOENT {
		j.fault(err)
	}
}
