package engine

import (
	"errors"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// The escalation sends the stop signal (TERM) to the main process and its group, at 40 % of the
// grace to the processes that this did not reach, and at its end KILL (docs/design/engine.md).
// No process gets it twice: a second one would cut its cleanup.
const (
	broadcastPoint = 0.4

	// killTimeout bounds the wait after KILL. Processes still alive then are in
	// uninterruptible sleep; they are reported as survivors.
	killTimeout = 2 * time.Second

	// killBacklogFactor extends killTimeout while the engine reaps thousands of trees, or
	// the machine is overloaded.
	killBacklogFactor = 15
)

// escalation is the state of one job's stop, from TERM to KILL. job.mu guards its
// fields, except the channels.
type escalation struct {
	cause       messages.Cause
	began       time.Time
	until       time.Time     // time of the KILL; it can only become earlier
	includeMain bool          // the main process is stopped, not only its leftovers
	running     bool          // a goroutine runs the escalation
	checks      int           // checks of the killed tree
	rekilled    bool          // remaining processes got a second KILL
	checkTimer  *time.Timer   // to the next check; nil: no KILL was sent
	shortened   chan struct{} // receives when until became earlier; capacity 1
	done        chan struct{} // closed when nothing is left or the survivors are reported
}

// waitsForTree reports whether the result waits for the end of the tree.
func (l *escalation) waitsForTree() bool { return l != nil && l.includeMain }

// stop starts the escalation, or shortens the grace of a running one. The first cause
// stays.
func (j *job) stop(c messages.Cause, grace time.Duration) {
	j.mu.Lock()
	defer j.mu.Unlock()
	j.stopLocked(c, grace)
}

// stopLocked does the work of stop for a caller that holds mu.
func (j *job) stopLocked(c messages.Cause, grace time.Duration) {
	now := time.Now()
	until := now.Add(max(grace, 0))
	if j.treeGone || j.phase == phaseDone {
		return
	}
	if l := j.escalation; l != nil {
		if until.Before(l.until) {
			l.until = until
			select {
			case l.shortened <- struct{}{}:
			default:
			}
		}
		return
	}
	j.escalation = &escalation{
		cause: c, began: now, until: until, includeMain: j.phase != phaseExited,
		shortened: make(chan struct{}, 1), done: make(chan struct{}),
	}
	j.shortenDrain()
	switch j.phase {
	case phaseQueued:
		j.phase = phaseForking // no spawner claims it now
		j.engine.run(j, func() { j.failed(stoppedEarly()) })
	case phaseRunning, phaseExited:
		j.startEscalation()
	}
}

// startEscalation runs the escalation in its own goroutine. A stop without grace that
// needs one call goes to the kill pool. The caller holds mu.
func (j *job) startEscalation() {
	j.escalation.running = true
	if j.tree != nil && j.tree.atOnce() && !j.escalation.until.After(j.escalation.began) {
		j.engine.enders.push(j)
		return
	}
	j.engine.run(j, j.escalate)
}

// escalate sends the signals up to KILL.
func (j *job) escalate() {
	follow(j.tree)
	j.mu.Lock()
	l := j.escalation
	if in := j.command; in != nil {
		j.mu.Unlock()
		in.escalate(l)
		return
	}
	grace := time.Until(l.until) > 0
	j.mu.Unlock()
	j.setCause(l)
	if grace {
		var termRest func()
		name := signalName(j.stopSignal())
		j.signalStep(l, name, func() { termRest = j.termMain() })
		if termRest != nil {
			if j.waitStep(l, broadcastPoint, nil) {
				return
			}
			if j.graceLeft(l) {
				j.signalStep(l, name, termRest)
			}
		}
		if j.waitStep(l, 1, nil) {
			return
		}
	}
	j.signalStep(l, "KILL", j.killAll)
	j.scheduleKillCheck(l)
}

// scheduleKillCheck schedules killCheck after killTimeout.
func (j *job) scheduleKillCheck(l *escalation) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !isClosed(l.done) {
		l.checkTimer = j.engine.after(j, killTimeout, func() { j.killCheck(l) })
		j.engine.enders.countKilled(1)
	}
}

// killCheck looks at a killed tree that has not ended. It waits while its processes are certain
// to exit or cannot be listed, for at most killBacklogFactor checks. It kills other processes
// once more, and then reports them as survivors.
func (j *job) killCheck(l *escalation) {
	if isClosed(l.done) {
		return
	}
	blind := j.isBlind()
	dying, wait := !blind && j.dying(), killTimeout
	j.mu.Lock()
	l.checks++
	missed := !blind && !dying && !l.rekilled
	l.rekilled = l.rekilled || missed
	again := missed || (blind || dying) && l.checks < killBacklogFactor
	j.mu.Unlock()
	if missed {
		wait = missedBound
	}
	if missed || blind { // without descriptors the kill has failed, too
		j.rekill()
	}
	if !again {
		j.nameSurvivors()
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !isClosed(l.done) {
		l.checkTimer.Reset(wait)
	}
}

// missedBound is the wait after the second KILL. A process that is then about to exit
// is waited for.
const missedBound = 100 * time.Millisecond

// rekill kills the remaining processes again: cgroup.kill can miss a process that is in
// execve (docs/decisions/034).
func (j *job) rekill() {
	if j.command != nil {
		j.tree.kill() // without the shell
		return
	}
	j.killAll()
}

// isBlind reports whether the remaining processes cannot be listed, as without a
// descriptor.
func (j *job) isBlind() bool {
	t, is := j.tree.(interface{ isEmpty() (bool, error) })
	if !is {
		return false
	}
	_, err := t.isEmpty()
	return err != nil
}

// dying reports whether all remaining processes are certain to exit.
func (j *job) dying() bool {
	var pids []int
	for _, s := range j.tree.survivors() {
		pids = append(pids, s.PID)
	}
	if !j.engine.host.hasExited(&j.proc) {
		pids = append(pids, j.proc.pid) // it may have left the tree
	}
	return !slices.ContainsFunc(pids, func(pid int) bool { return !j.engine.host.ends(pid) })
}

// ended closes the escalation. The caller holds job.mu.
func (l *escalation) ended(by *killPool) {
	if l == nil {
		return
	}
	close(l.done)
	if l.checkTimer != nil {
		l.checkTimer.Stop()
		by.countKilled(-1)
	}
}

// setCause sets the job's cause, unless the main process exited before.
func (j *job) setCause(l *escalation) {
	var exited bool
	j.engine.bounded(func() { exited = j.engine.host.hasExited(&j.proc) })
	j.update(func() {
		if j.exit != nil || exited {
			l.includeMain = l.includeMain && !exited && j.exit == nil
			return
		}
		j.cause = &l.cause
		if j.tree.isolation() == messages.Group {
			j.flag(messages.FlagTreeUnverified)
		}
	})
}

// graceLeft reports whether grace remains.
func (j *job) graceLeft(l *escalation) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return time.Until(l.until) > 0
}

// waitStep waits until part of the grace has passed or enough is closed, and reports
// whether the tree has ended. The grace may be shortened meanwhile.
func (j *job) waitStep(l *escalation, part float64, enough <-chan struct{}) (gone bool) {
	for {
		j.mu.Lock()
		at := l.began.Add(time.Duration(part * float64(l.until.Sub(l.began))))
		j.mu.Unlock()
		timer := time.NewTimer(time.Until(at))
		select {
		case <-l.done:
			timer.Stop()
			return true
		case <-timer.C:
			return false
		case <-enough:
			timer.Stop()
			return isClosed(l.done)
		case <-l.shortened:
			timer.Stop()
		}
	}
}

// signalStep performs one step of the escalation.
func (j *job) signalStep(l *escalation, signal string, do func()) {
	j.pass(pointStop)
	select {
	case <-l.done:
		return
	default:
	}
	j.mu.Lock()
	if l.includeMain && !j.toldExited {
		sent := j.stoppedFor()
		sent.Signal = signal
		j.cause = &sent
	}
	j.mu.Unlock()
	do()
}

// termMain sends the stop signal to the main process, its group and the terminal's foreground
// group, and CONT to all: a stopped process cannot handle it. If the main process has exited, all
// get it. It returns a function that sends it to the others; nil: there are none.
func (j *job) termMain() (termRest func()) {
	front := j.foreground()
	termRest = j.engine.host.termRest(j, front)
	if !j.proc.signal(j.stopSignal(), true) {
		j.termAll()
		return nil
	}
	if j.shell != nil { // an interactive shell ignores TERM
		j.proc.signal(unix.SIGHUP, false)
	}
	j.engine.host.askFront(j, front)
	j.tree.signal(unix.SIGCONT)
	return termRest
}

// termAll sends the stop signal to the whole tree. On a terminal it also sends HUP, since
// interactive shells ignore TERM.
func (j *job) termAll() {
	if j.term != nil {
		j.tree.signal(unix.SIGHUP, j.stopSignal(), unix.SIGCONT)
		return
	}
	j.tree.signal(j.stopSignal(), unix.SIGCONT)
}

func (j *job) killAll() {
	j.tree.kill()
	j.proc.signal(unix.SIGKILL, false) // it may have left the cgroup
}

// nameSurvivors ends the job although processes survive KILL, and reports them. If the
// main process is among them, its outcome is the pending KILL.
func (j *job) nameSurvivors() {
	if j.isBlind() {
		j.update(func() { j.flag(messages.FlagTreeUnverified) })
	}
	survivors := j.tree.survivors()
	if !j.proc.reaped() {
		j.engine.report(j.id, errUnkillable)
		j.mu.Lock()
		if j.exit == nil {
			j.exit = &mainExit{at: time.Now(), status: messages.ExitStatus{Signal: "KILL", Number: int(syscall.SIGKILL)}}
			j.phase, j.drained = phaseExited, true
			j.input.ackWritten()
			j.controls.refuseRest()
			j.input.reportWaiting(j, false, false)
		}
		end := *j.exit
		j.mu.Unlock()
		if j.shell != nil {
			j.shell.shellExited(end)
		}
		if len(survivors) == 0 {
			survivors = j.engine.host.describe(j.proc.pid)
		}
	}
	j.treeEnds(survivors)
}

// errUnkillable reports a result without an exit.
var errUnkillable = errors.New("the main process did not end within two seconds of its KILL")

// rest pauses for d. It returns false when the engine ends.
func (h *platform) rest(d time.Duration) bool {
	t := time.NewTimer(d)
	defer t.Stop()
	select {
	case <-t.C:
		return true
	case <-h.engine.done:
		return false
	}
}
