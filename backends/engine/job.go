package engine

import (
	"fmt"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// phase is where a job stands.
type phase uint8

const (
	phaseQueued phase = iota // in the queue of the spawners
	phaseForking
	phaseRunning
	phaseExited // the main process was reaped, or given up
	phaseDone   // nothing more will be said
)

// job is one process tree and its output. Facts become due in any order and
// are said in one: advance is the only place that says the last four.
type job struct {
	factQueue
	engine  *Local
	id      messages.UID
	proc    mainProcess
	credits credits

	mu       sync.Mutex
	spec     *backends.Spec // until the fork: argv and environment are large
	postFork postForkSpec   // what of it is needed after
	meta     []byte
	tree     tree
	streams  []*stream
	shell    *liveShell    // it is a live shell; nil: it is none
	command  *shellCommand // it is a command of one, once it was let in; nil: it is none
	term     *terminal     // nil: none

	deadline *time.Timer // of the deadline
	pause    *time.Timer // until the next try of a fork
	input    *input      // nil: it is given none
	controls *controls   // nil: nothing was asked of it

	escalation *escalation
	cause      *messages.Cause // is not changed, but replaced; nil: it was not stopped
	exit       *mainExit       // nil: it has not ended
	draining   *time.Timer     // the end of its patience, while it goes on
	survivors  []messages.Survivor
	flags      []messages.Flag
	forks      int32 // tries
	leftovers  int32 // processes that outlived the main process

	phase        phase
	cleaned      bool
	drained      bool        // every byte of the main process is in the logs
	recorded     bool        // the journal has the exit
	drainBlocked bool        // but for what a full store left in a pipe
	treeGone     bool        // or survivors are named
	paused       atomic.Bool // capture, by a control

	toldMain, toldExited, toldClosed, toldEnded bool // MainExited, ProcessExited, OutputClosed, TreeEnded
}

// stoppedFor is why the job was stopped, zero if it was not. Called with mu.
func (j *job) stoppedFor() messages.Cause {
	if j.cause == nil {
		return messages.Cause{}
	}
	return *j.cause
}

// postForkSpec is what of a Spec is needed after the fork.
type postForkSpec struct {
	grace   time.Duration
	onExit  messages.OnExit
	scratch string // the file of its script
	oom     int64
	sync    bool // logs are synced before the exit is reported
}

// mainExit is how the main process ended.
type mainExit struct {
	status messages.ExitStatus
	rusage messages.Rusage
	at     time.Time
	oom    messages.Tristate
}

func newJob(e *Local, s backends.Spec, b *backends.Binding) *job {
	j := &job{engine: e, id: s.ID, spec: &s, meta: s.Meta, proc: mainProcess{e: e, pidfd: -1}}
	j.bound = b
	j.credits.job = j
	if typed := s.Stdio.Terminal != (messages.Terminal{}); typed || s.Stdio.Stdin == messages.StdinPipe {
		j.input = &input{typed: typed}
		if typed && s.Stdio.Ended {
			a := &answer{} // for nobody
			j.controls = &controls{todo: []control{{backends.CloseInput{}, a}}, answers: []*answer{a}}
		}
	}
	j.postFork = postForkSpec{
		grace: s.Grace, onExit: s.OnExit,
		sync: s.Log.Durability == spill.FsyncOnExit,
	}
	if s.Live != nil {
		j.shell = newLiveShell(j, s.Live)
	}
	return j
}

// update changes the state, says what has become due and cleans up behind the
// last word. Only goroutines of the engine may call it: it tells facts.
func (j *job) update(change func()) {
	clean := j.change(change)
	j.tell()
	if clean {
		j.clean()
	}
	j.forgetIfOver()
}

// change is update without the telling; it reports whether clean is due.
func (j *job) change(change func()) bool {
	j.mu.Lock()
	defer j.mu.Unlock()
	change()
	j.advance()
	if j.phase != phaseDone || j.cleaned {
		return false
	}
	j.cleaned = true
	return true
}

func (j *job) tell() { j.flush(func(r any) { j.fault(fmt.Errorf("the listener panicked: %v", r)) }) }

// tellHelping tells, and helps with what follows. Called without any lock, where a
// while does not matter.
func (j *job) tellHelping() {
	if w := j.engine.opt.Workers; w != nil {
		w.Join()
		defer w.Leave()
	}
	j.tell()
}

// advance says what has become due, in the order of the contract: the result,
// then the end of the output and of the tree. Called with mu.
func (j *job) advance() {
	if j.phase != phaseExited {
		return
	}
	if j.drained && !j.toldExited && j.treeGone && j.outputClosed() {
		j.reportAll()
		return
	}
	if j.drained && !j.toldExited && (j.treeGone || !j.escalation.waitsForTree()) {
		j.sayExited(j.engine.seq.Add(1), 0)
	}
	if !j.toldExited {
		if j.drained { // it waits for the end of the tree
			j.reportMainWaits()
		}
		return
	}
	closed := j.outputClosed()
	if closed && !j.toldClosed {
		j.sayClosed(j.engine.seq.Add(1))
	}
	if j.treeGone && !j.toldEnded && (closed || j.certain()) {
		j.sayEnded(j.engine.seq.Add(1))
	}
	if j.toldClosed && j.toldEnded {
		j.phase = phaseDone
	}
}

// reportAll says the result of a job of which nothing is left. Called with mu.
func (j *job) reportAll() {
	last := j.engine.seq.Add(3)
	j.sayExited(last-2, last)
	j.sayClosed(last - 1)
	j.sayEnded(last)
	j.phase = phaseDone
}

func (j *job) sayClosed(seq uint64) {
	j.toldClosed = true
	j.enqueueKept(seq, messages.OutputClosed{Seq: seq, Sizes: j.credits.sizes(), Outputs: j.outputs()})
}

func (j *job) sayEnded(seq uint64) {
	j.toldEnded = true
	j.enqueueKept(seq, messages.TreeEnded{Seq: seq, Survivors: j.survivors})
}

// certain reports whether the end of the tree is known without that of the
// output. Where only process groups can be seen, a process that holds the
// output is one more that lives.
func (j *job) certain() bool {
	return j.command != nil || j.escalation != nil || j.tree == nil || j.tree.isolation() != messages.Group
}

// reportMainWaits says, once, that the result waits for something. Called with mu.
func (j *job) reportMainWaits() {
	if !j.toldMain && !j.toldExited {
		j.toldMain = true
		j.enqueue(messages.MainExited{Status: j.exit.status, At: j.exit.at})
	}
}

func (j *job) sayExited(seq, last uint64) {
	j.toldExited = true
	sizes := j.credits.sizes()
	if j.drainBlocked {
		j.flag(messages.FlagLogBlocked)
	}
	j.recordDrained(sizes, seq)
	left := int(j.leftovers)
	if j.treeGone && j.command == nil {
		left = len(j.survivors)
	}
	j.enqueueKept(seq, messages.ProcessExited{
		Seq: seq, Last: last, Status: j.exit.status, Cause: j.stoppedFor(), At: j.exit.at, Sizes: sizes, Outputs: j.outputs(),
		OutputOpen: !j.outputClosed(), Children: left, Survivors: j.survivors,
		OOM: j.exit.oom, Rusage: j.exit.rusage, Flags: append([]messages.Flag(nil), j.flags...),
		Dir: j.cwd(),
	})
}

// cwd is where a live shell is, or was when the command had ended; "": it is none, or
// not known. Called with mu.
func (j *job) cwd() string {
	switch {
	case j.command != nil:
		return j.command.cwd
	case j.shell != nil:
		return *j.shell.cwd.Load()
	}
	return ""
}

// outputClosed reports whether no log of the job will grow.
func (j *job) outputClosed() bool { return allSealed(j.streams) }

// flag marks the job, once for each flag. Called with mu.
func (j *job) flag(f messages.Flag) {
	for _, have := range j.flags {
		if have == f {
			return
		}
	}
	j.flags = append(j.flags, f)
}

// clean gives back what a job held that is over. It may be called before the
// main process is reaped, if that could not be ended.
func (j *job) clean() {
	j.mu.Lock()
	t, timer, streams := j.tree, j.deadline, j.streams
	j.deadline, j.streams = nil, nil
	j.mu.Unlock()
	for _, s := range streams {
		if s.pumpFailed.Load() {
			s.end.close()
		}
	}
	if timer != nil {
		timer.Stop()
	}
	if t != nil {
		t.end()
	}
	j.proc.close()
	if j.engine.opt.Over != nil {
		j.engine.opt.Over(j.id)
	}
}

// settle lets the engine forget facts, and the job when it has none left.
func (j *job) settle(seq uint64) {
	if !j.factQueue.settle(seq) {
		j.forgetIfOver()
	}
}

// forgetIfOver drops a job that is over and whose facts are all settled.
func (j *job) forgetIfOver() {
	j.mu.Lock()
	ended := j.phase == phaseDone
	j.mu.Unlock()
	if ended && !j.factQueue.settle(0) {
		j.engine.forget(j)
	}
}

// adopt gives the job to a new owner.
func (j *job) adopt(facts backends.FactHandler) backends.Process {
	b := backends.Bind(facts)
	j.mu.Lock()
	j.credits.clear()
	j.controls.forget()
	former := j.bind(b, j.replayState())
	j.mu.Unlock()
	if former != nil {
		former.End()
	}
	j.engine.run(j, j.tell)
	return process{j, b}
}

// replayState is what a new owner must hear beside the numbered facts. Called
// with mu.
func (j *job) replayState() []messages.ProcessFact {
	var facts []messages.ProcessFact
	if j.exit != nil && !j.toldExited {
		facts = append(facts, messages.MainExited{Status: j.exit.status, At: j.exit.at})
	}
	if in := j.input; in != nil && in.reported && j.phase == phaseRunning { // what was said last may have been lost
		facts = append(facts, messages.InputWaiting{Waiting: in.waiting, Secret: in.secret})
	}
	for _, s := range j.streams {
		if b := s.blockedFact(); b.Blocked {
			facts = append(facts, b)
		}
	}
	return facts
}

// guard keeps a fault in one job's goroutine from the others (F12).
func (j *job) guard() {
	if r := recover(); r != nil {
		j.fault(fmt.Errorf("a goroutine of the job panicked: %v", r))
	}
}

// fault marks the job. Its descriptors are kept: what it writes waits.
func (j *job) fault(err error) {
	j.mu.Lock()
	j.flag(messages.FlagKeeperFault)
	j.mu.Unlock()
	j.engine.report(j.id, err)
}

// mainProcess is the main process. It is signalled under the lock its reap takes, so
// that no signal meets a stranger with its number.
type mainProcess struct {
	e     *Local
	mu    sync.Mutex
	start uint64
	pid   int   // 0: it never was
	pidfd int32 // -1: none
	gone  bool
}

// signal sends sig to the main process, or to all of its group; false if it is
// reaped or never was.
func (r *mainProcess) signal(sig syscall.Signal, group bool) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pid == 0 || r.gone {
		return false
	}
	pid := r.pid
	if group {
		pid = -pid // it leads a session of its own: the group exists as long as it does
	}
	return r.e.opt.Sys.Kill(pid, sig) == nil
}

// reap runs wait, which takes the process out of the table.
func (r *mainProcess) reap(wait func() error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	err := wait()
	r.gone = true
	return err
}

// reaped reports whether the main process is no more.
func (r *mainProcess) reaped() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.gone
}

// close gives back the pidfd of a process that was reaped.
func (r *mainProcess) close() {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.pidfd >= 0 && r.gone {
		_ = r.e.opt.Sys.Close(int(r.pidfd))
		r.pidfd = -1
	}
}
