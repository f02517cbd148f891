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
	secondRung = 0.4

	// killBound is how long a killed tree may take to be gone. Who is left then
	// sleeps where no signal reaches it, and is named.
	killBound = 2 * time.Second

	// backlogBounds is how many times as long a dead tree may wait for the engine,
	// which may have thousands to bury, and a dying one for its turn on a machine that
	// has thousands to run.
	backlogBounds = 15
)

// ladder is the way from TERM to KILL of one job. Its fields are guarded by
// job.mu, but for the channels.
type ladder struct {
	cause   messages.Cause
	began   time.Time
	until   time.Time     // KILL is due; it only ever comes nearer
	all     bool          // the main process is to be ended, not only what it left
	climbed bool          // somebody is on it
	falls   int           // looks whether a killed tree has come down
	missed  bool          // who was left was killed once more
	fall    *time.Timer   // to the next of them; nil: it was not killed
	hurry   chan struct{} // until has come nearer; capacity 1
	gone    chan struct{} // closed: nothing is left, or the survivors are named
}

// forAll reports whether the result waits for the end of the tree.
func (l *ladder) forAll() bool { return l != nil && l.all }

// stop begins the ladder, or shortens it. The first cause stays.
func (j *job) stop(c messages.Cause, grace time.Duration) {
	now := time.Now()
	until := now.Add(max(grace, 0))
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.treeGone || j.phase == over {
		return
	}
	if l := j.ladder; l != nil {
		if until.Before(l.until) {
			l.until = until
			select {
			case l.hurry <- struct{}{}:
			default:
			}
		}
		return
	}
	j.ladder = &ladder{
		cause: c, began: now, until: until, all: j.phase != exited,
		hurry: make(chan struct{}, 1), gone: make(chan struct{}),
	}
	j.hasten()
	switch j.phase {
	case waiting:
		j.phase = forking // nobody claims it now
		j.e.run(j, func() { j.failed(stoppedEarly()) })
	case running, exited:
		j.climbs()
	}
}

// climbs sees to it that somebody climbs the ladder: in a goroutine of its own, which
// mostly waits, or, where there is no grace and it takes one call, as one of many.
// Called with mu.
func (j *job) climbs() {
	j.ladder.climbed = true
	if j.tree != nil && j.tree.atOnce() && !j.ladder.until.After(j.ladder.began) {
		j.e.enders.push(j)
		return
	}
	j.e.run(j, j.climb)
}

// climb walks the ladder up to the kill.
func (j *job) climb() {
	j.mu.Lock()
	l := j.ladder
	if in := j.in; in != nil {
		j.mu.Unlock()
		in.climb(l)
		return
	}
	grace := time.Until(l.until) > 0
	j.mu.Unlock()
	j.blame(l)
	if grace {
		j.rung(l, "TERM", j.askMain)
		if j.rest(l, secondRung, nil) {
			return
		}
		if j.remains(l) {
			j.rung(l, "TERM", j.askAll)
			if j.rest(l, 1, nil) {
				return
			}
		}
	}
	j.rung(l, "KILL", j.killAll)
	j.awaitFall(l)
}

// awaitFall has a killed tree looked at when it has had its time to end.
func (j *job) awaitFall(l *ladder) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if !isClosed(l.gone) {
		l.fall = j.e.after(j, killBound, func() { j.comesDown(l) })
		j.e.enders.falls(1)
	}
}

// comesDown checks a killed tree. Processes that are dead but not reaped yet, or that only
// wait for a CPU to end on, are no survivors. Only processes that no signal reaches are
// reported.
func (j *job) comesDown(l *ladder) {
	if isClosed(l.gone) {
		return
	}
	blind := j.isBlind()
	dying, wait := !blind && j.dying(), killBound
	j.mu.Lock()
	l.falls++
	missed := !blind && !dying && !l.missed
	l.missed = l.missed || missed
	again := missed || (blind || dying) && l.falls < backlogBounds
	j.mu.Unlock()
	if missed {
		wait = missedBound
	}
	if missed || blind { // a kill that needs a descriptor has failed, too
		j.killMissed()
	}
	if !again {
		j.nameSurvivors()
		return
	}
	j.mu.Lock()
	defer j.mu.Unlock()
	if !isClosed(l.gone) {
		l.fall.Reset(wait)
	}
}

// missedBound is how long who was killed once more has to end before he is named: once a
// KILL has reached him he is waited for.
const missedBound = 100 * time.Millisecond

// killMissed kills once more who is left: a kill of a whole cgroup misses who executes a
// program in that instant (docs/decisions/034).
func (j *job) killMissed() {
	if j.in != nil {
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
	if !j.e.host.hasExited(&j.root) {
		pids = append(pids, j.root.pid) // it may have left the tree
	}
	return !slices.ContainsFunc(pids, func(pid int) bool { return !j.e.host.ends(pid) })
}

// ended closes the ladder: nothing is left, or the survivors are named. Called with
// job.mu.
func (l *ladder) ended(by *enders) {
	if l == nil {
		return
	}
	close(l.gone)
	if l.fall != nil {
		l.fall.Stop()
		by.falls(-1)
	}
}

// blame makes the cause of the ladder the job's, unless the main process had
// already exited by itself.
func (j *job) blame(l *ladder) {
	var exited bool
	j.e.bounded(func() { exited = j.e.host.hasExited(&j.root) })
	j.update(func() {
		if j.main != nil || exited {
			l.all = l.all && !exited && j.main == nil
			return
		}
		j.cause = &l.cause
		if j.tree.isolation() == messages.Group {
			j.flag(messages.FlagTreeUnverified)
		}
	})
}

// remains reports whether there is time left before the kill.
func (j *job) remains(l *ladder) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	return time.Until(l.until) > 0
}

// rest waits for a part of the grace, which may be shortened meanwhile, or until
// enough is closed, and reports whether the tree has ended.
func (j *job) rest(l *ladder, part float64, enough <-chan struct{}) (gone bool) {
	for {
		j.mu.Lock()
		at := l.began.Add(time.Duration(part * float64(l.until.Sub(l.began))))
		j.mu.Unlock()
		timer := time.NewTimer(time.Until(at))
		select {
		case <-l.gone:
			timer.Stop()
			return true
		case <-timer.C:
			return false
		case <-enough:
			timer.Stop()
			return isClosed(l.gone)
		case <-l.hurry:
			timer.Stop()
		}
	}
}

// rung does one step.
func (j *job) rung(l *ladder, signal string, do func()) {
	j.pass(pointStop)
	select {
	case <-l.gone:
		return
	default:
	}
	j.mu.Lock()
	if l.all && !j.told {
		sent := j.stoppedFor()
		sent.Signal = signal
		j.cause = &sent
	}
	j.mu.Unlock()
	do()
}

// askMain asks the main process and its group to end, and who is in the foreground of
// its terminal, and wakes everyone: a stopped process cannot answer a TERM. When the main process is gone its
// children are asked.
func (j *job) askMain() {
	if j.root.signal(unix.SIGTERM, true) {
		if j.live != nil { // an interactive one does not listen to TERM
			j.root.signal(unix.SIGHUP, false)
		}
		j.e.host.askFront(j, j.foreground())
		j.tree.signal(unix.SIGCONT)
		return
	}
	j.askAll()
}

// askAll asks everyone. On a terminal they are told that it hangs up, too: a shell that
// somebody types to ignores TERM.
func (j *job) askAll() {
	if j.term != nil {
		j.tree.signal(unix.SIGHUP, unix.SIGTERM, unix.SIGCONT)
		return
	}
	j.tree.signal(unix.SIGTERM, unix.SIGCONT)
}

func (j *job) killAll() {
	j.tree.kill()
	j.root.signal(unix.SIGKILL, false) // it may have left the cgroup
}

// nameSurvivors ends the job with whom no signal could end. A main process
// among them has its KILL pending: that will be its end.
func (j *job) nameSurvivors() {
	if j.isBlind() {
		j.update(func() { j.flag(messages.FlagTreeUnverified) })
	}
	survivors := j.tree.survivors()
	if !j.root.reaped() {
		j.e.report(j.id, errUnkillable)
		j.mu.Lock()
		if j.main == nil {
			j.main = &ending{at: time.Now(), status: messages.ExitStatus{Signal: "KILL", Number: int(syscall.SIGKILL)}}
			j.phase, j.drained = exited, true
			j.input.account()
			j.controls.refuseRest()
			j.input.say(j, false, false)
		}
		end := *j.main
		j.mu.Unlock()
		if j.live != nil {
			j.live.died(end)
		}
		if len(survivors) == 0 {
			survivors = j.e.host.describe(j.root.pid)
		}
	}
	j.treeEnds(survivors)
}

// errUnkillable says why a result was told without the exit.
var errUnkillable = errors.New("the main process did not end within two seconds of its KILL")

// await waits for the end of the tree, or until expired. It gives the survivors.
func (j *job) await(expired <-chan struct{}) []messages.Survivor {
	j.mu.Lock()
	l := j.ladder
	j.mu.Unlock()
	if l != nil {
		select {
		case <-l.gone:
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
	timers := []*time.Timer{j.insurance, j.pause}
	if j.ladder != nil {
		timers = append(timers, j.ladder.fall)
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
	if j.live != nil {
		j.live.dismiss()
	}
}
