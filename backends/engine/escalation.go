package engine

import (
	"errors"
	"slices"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// The ladder sends TERM to the main process and its group, at 40 % of the grace TERM to
// every process of the tree, and at its end KILL (docs/design/engine.md).
const (
	broadcastPoint = 0.4

	// killTimeout is how long a killed tree may take to be gone. Who is left then
	// sleeps where no signal reaches it, and is named.
	killTimeout = 2 * time.Second

	// killBacklogFactor is how many times as long a dead tree may wait for the engine,
	// which may have thousands to bury, and a dying one for its turn on a machine that
	// has thousands to run.
	killBacklogFactor = 15
)

// escalation is the way from TERM to KILL of one job. Its fields are guarded by
// job.mu, but for the channels.
type escalation struct {
	cause       messages.Cause
	began       time.Time
	until       time.Time     // KILL is due; it only ever comes nearer
	includeMain bool          // the main process is to be ended, not only what it left
	running     bool          // somebody is on it
	checks      int           // looks whether a killed tree has come down
	rekilled    bool          // who was left was killed once more
	checkTimer  *time.Timer   // to the next of them; nil: it was not killed
	shortened   chan struct{} // until has come nearer; capacity 1
	done        chan struct{} // closed: nothing is left, or the survivors are named
}

// waitsForTree reports whether the result waits for the end of the tree.
func (l *escalation) waitsForTree() bool { return l != nil && l.includeMain }

// stop begins the ladder, or shortens it. The first cause stays.
func (j *job) stop(c messages.Cause, grace time.Duration) {
	now := time.Now()
	until := now.Add(max(grace, 0))
	j.mu.Lock()
	defer j.mu.Unlock()
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
		j.phase = phaseForking // nobody claims it now
		j.engine.run(j, func() { j.failed(stoppedEarly()) })
	case phaseRunning, phaseExited:
		j.startEscalation()
	}
}

// startEscalation sees to it that somebody climbs the ladder: in a goroutine of its own, which
// mostly waits, or, where there is no grace and it takes one call, as one of many.
// Called with mu.
func (j *job) startEscalation() {
	j.escalation.running = true
	if j.tree != nil && j.tree.atOnce() && !j.escalation.until.After(j.escalation.began) {
		j.engine.enders.push(j)
		return
	}
	j.engine.run(j, j.escalate)
}

// escalate walks the ladder up to the kill.
func (j *job) escalate() {
	j.mu.Lock()
	l := j.escalation
	if in := j.command; in != nil {
		j.mu.Unlock()
		in.climb(l)
		return
	}
	grace := time.Until(l.until) > 0
	j.mu.Unlock()
	j.setCause(l)
	if grace {
		j.signalStep(l, "TERM", j.termMain)
		if j.waitStep(l, broadcastPoint, nil) {
			return
		}
		if j.graceLeft(l) {
			j.signalStep(l, "TERM", j.termAll)
			if j.waitStep(l, 1, nil) {
				return
			}
		}
	}
	j.signalStep(l, "KILL", j.killAll)
	j.scheduleKillCheck(l)
}

// scheduleKillCheck has a killed tree looked at when it has had its time to end.
func (j *job) scheduleKillCheck(l *escalation) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !isClosed(l.done) {
		l.checkTimer = j.engine.after(j, killTimeout, func() { j.killCheck(l) })
		j.engine.enders.falls(1)
	}
}

// killCheck checks a killed tree. Processes that are dead but not reaped yet, or that only
// wait for a CPU to end on, are no survivors. Only processes that no signal reaches are
// reported.
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
	if missed || blind { // a kill that needs a descriptor has failed, too
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

// missedBound is how long who was killed once more has to end before he is named: once a
// KILL has reached him he is waited for.
const missedBound = 100 * time.Millisecond

// rekill kills once more who is left: a kill of a whole cgroup misses who executes a
// program in that instant (docs/decisions/034).
func (j *job) rekill() {
	if j.command != nil {
		j.tree.kill() // the shell is let alone
		return
	}
	j.killAll()
}

// isBlind reports whether who is left cannot be listed now, as for want of a descriptor.
func (j *job) isBlind() bool {
	t, is := j.tree.(interface{ isEmpty() (bool, error) })
	if !is {
		return false
	}
	_, err := t.isEmpty()
	return err != nil
}

// dying reports whether nobody would be named but who is sure to end.
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

// ended closes the ladder: nothing is left, or the survivors are named. Called with
// job.mu.
func (l *escalation) ended(by *killPool) {
	if l == nil {
		return
	}
	close(l.done)
	if l.checkTimer != nil {
		l.checkTimer.Stop()
		by.falls(-1)
	}
}

// setCause makes the cause of the ladder the job's, unless the main process had
// already exited by itself.
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

// graceLeft reports whether there is time left before the kill.
func (j *job) graceLeft(l *escalation) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return time.Until(l.until) > 0
}

// waitStep waits for a part of the grace, which may be shortened meanwhile, or until
// enough is closed, and reports whether the tree has ended.
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

// signalStep does one step.
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

// termMain asks the main process and its group to end, and who is in the foreground of
// its terminal, and wakes everyone: a stopped process cannot answer a TERM. When the main process is gone its
// children are asked.
func (j *job) termMain() {
	if j.proc.signal(unix.SIGTERM, true) {
		if j.shell != nil { // an interactive one does not listen to TERM
			j.proc.signal(unix.SIGHUP, false)
		}
		j.engine.host.askFront(j, j.foreground())
		j.tree.signal(unix.SIGCONT)
		return
	}
	j.termAll()
}

// termAll asks everyone. On a terminal they are told that it hangs up, too: a shell that
// somebody types to ignores TERM.
func (j *job) termAll() {
	if j.term != nil {
		j.tree.signal(unix.SIGHUP, unix.SIGTERM, unix.SIGCONT)
		return
	}
	j.tree.signal(unix.SIGTERM, unix.SIGCONT)
}

func (j *job) killAll() {
	j.tree.kill()
	j.proc.signal(unix.SIGKILL, false) // it may have left the cgroup
}

// nameSurvivors ends the job with whom no signal could end. A main process
// among them has its KILL pending: that will be its end.
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

// errUnkillable says why a result was told without the exit.
var errUnkillable = errors.New("the main process did not end within two seconds of its KILL")

// await waits for the end of the tree, or until expired. It gives the survivors.
func (j *job) await(expired <-chan struct{}) []messages.Survivor {
	j.mu.Lock()
	l := j.escalation
	j.mu.Unlock()
	if l != nil {
		select {
		case <-l.done:
		case <-expired:
		}
	}
	j.mu.Lock()
	t, ended, survivors := j.tree, j.treeGone, j.survivors
	j.mu.Unlock()
	if t == nil || ended {
		return survivors
	}
	return t.survivors()
}

// dismiss lets go of a job at the end of the engine: nobody is told any more,
// and logs whose writers live are sealed.
func (j *job) dismiss() {
	j.mu.Lock()
	streams := j.streams
	timers := []*time.Timer{j.deadline, j.pause}
	if j.escalation != nil {
		timers = append(timers, j.escalation.checkTimer)
	}
	stdin := j.input.shut()
	j.mu.Unlock()
	for _, t := range timers {
		if t != nil {
			t.Stop()
		}
	}
	stdin.close()
	for _, s := range streams {
		s.dismiss()
	}
	if j.shell != nil {
		j.shell.shutdown()
	}
}
