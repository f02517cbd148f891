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

// reap reaps the main process. The platform calls it while the process is a zombie. If
// another waiter took the status, reap queries it by pidfd. An unknown status is
// reported as a fault.
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
		j.fault(errors.New("another waiter took the exit status: the host waits for children that are not its own"))
		end.status = messages.ExitStatus{Code: 255}
	} else {
		end.status, end.rusage = statusOf(ws), rusageOf(&usage)
	}
	j.pass(pointReaped)
	j.ended(end)
}

// reapSafely calls reap in a goroutine that serves all jobs.
func (j *job) reapSafely() {
	defer j.guard()
	j.reap()
}

// pass calls a failpoint that cannot fail the step: an error or panic only flags the
// job.
func (j *job) pass(point string) {
	defer j.guard()
	if err := j.engine.opt.at(point); err != nil {
		j.fault(err)
	}
}

// ended handles the exit of the main process: it drains the output, then the result is
// due. It runs in the reaper's goroutine, and starts another for slow work.
func (j *job) ended(end mainExit) {
	j.mu.Lock()
	if j.exit != nil { // the result was reported before, as unkillable
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

// reportMainExit reports the exit before the output is drained.
func (j *job) reportMainExit() {
	j.mu.Lock()
	j.reportMainWaits()
	j.mu.Unlock()
	j.tell()
}

// quick drains streams that take no time: the pipe is nearly empty and the log small.
// It reports whether all are drained.
func quick(streams []*stream) bool {
	for _, s := range streams {
		if !s.drainQuickly() {
			return false
		}
	}
	return true
}

// quickly calls quick and treats a fault as not drained.
func (j *job) quickly(streams []*stream) (all bool) {
	defer j.guard()
	return quick(streams)
}

// drainBound is how long a full store may delay a result. The rest of the pipe is
// captured when there is room.
const drainBound = 30 * time.Second

// drain copies the main process's output into the logs, with time for a slow store.
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

// drainTimeout returns a channel that closes after drainBound, or after lastDrainBound
// if the job is being stopped: a stop needs the end, not the output.
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

// shortenDrain shortens a drain that goes on. The caller holds mu.
func (j *job) shortenDrain() {
	if j.draining != nil && j.draining.Stop() {
		j.draining.Reset(lastDrainBound)
	}
}

// reportUndrained reports the result after a panic of the drain: a job always ends.
func (j *job) reportUndrained() {
	if r := recover(); r != nil {
		j.fault(fmt.Errorf("the drain panicked: %v", r))
		j.collected()
	}
}

// collected counts the processes left of the tree, and reports the result.
func (j *job) collected() { j.tree.count(j.counted) }

// How long a job without processes waits for the end of its output. A forked child of this
// process holds every pipe until its exec closes them, and the host may have forked. If
// the whole tree is visible, little else can hold a pipe. In a group, a process that left
// may hold it.
const (
	lingerWhole = 200 * time.Millisecond
	lingerGroup = 20 * time.Millisecond
)

// counted takes the number of processes that outlived the main process; empty: the tree
// is empty. A process that is exiting keeps the tree from being empty, but is not
// counted.
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
			j.checkOutputEnds(streams) // a busy engine may not have seen them
		}
		j.tree.count(j.report)
	})
}

// checkOutputEnds empties the pipes and finds those without a writer, without waiting
// for a store.
func (j *job) checkOutputEnds(streams []*stream) {
	expired := make(chan struct{})
	close(expired) // the job has already waited for a full store
	for _, s := range streams {
		j.drainSafely(s, expired)
	}
}

// drainSafely drains one stream. A fault of it does not affect the others, and does not
// count as a full store.
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

// waitOutputEnd waits up to bound for the ends of streams.
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

// report reports the result, together with the last facts if nothing of the job is
// left.
func (j *job) report(left int, empty bool) {
	var kill, all bool
	var escaped []messages.Survivor
	if t, is := j.tree.(interface{ escapees() []messages.Survivor }); is && !empty {
		escaped = t.escapees()
	}
	clean := j.change(func() {
		j.drained, j.leftovers = true, int32(left)
		if !j.treeGone {
			j.survivors = escaped
		}
		j.exit.oom = j.tree.oom(j.exit.status, j.cause != nil, j.postFork.oom)
		if all = empty && j.escalation == nil && j.outputClosed(); all {
			j.treeGone = true
		}
		kill = !empty && j.postFork.onExit == messages.KillChildren && j.escalation == nil
	})
	j.tellHelping()
	runtime.Gosched() // receivers of the facts run before the cleanup
	if clean {
		j.clean()
	} else if j.tree.isolation() != messages.Group { // a group still needs its number
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

// treeEmpty handles the end of the tree. After a stop it verifies that: a descendant
// may have left the cgroup.
func (j *job) treeEmpty() {
	if !j.stopping() {
		j.treeEnds(nil)
		return
	}
	j.engine.host.verify(j, func() { j.treeEnds(nil) })
}

// stopping reports whether the job, or what is left of it, is being stopped.
func (j *job) stopping() bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.escalation != nil
}

// treeEnds ends the tree; survivors are the processes that are left. It drains the last
// output first.
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

// lastDrainBound is part of the half second that a stop may take beyond its grace and
// killTimeout.
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

// removeScratch removes the script file, which only the main process needed.
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
