package engine

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// phase is the state of a job's life.
type phase uint8

const (
	phaseQueued phase = iota // in the queue of the spawners
	phaseForking
	phaseRunning
	phaseExited // the main process was reaped, or did not end after KILL
	phaseDone   // the last fact was reported
)

// job is one process tree and its output. Facts become due in any order and are
// reported in one: only advance reports the last four.
type job struct {
	factQueue
	engine  *Local
	id      messages.UID
	proc    mainProcess
	credits credits

	mu       sync.Mutex
	spec     *backends.Spec // until the fork; argv and environment are large
	postFork postForkSpec   // the part of spec that is needed after the fork
	meta     []byte
	tree     tree
	streams  []*stream
	shell    *liveShell    // nil: the job is not a live shell
	command  *shellCommand // set once a shell has accepted the command; nil: not a shell command
	term     *terminal     // nil: none

	deadline *time.Timer // of the deadline
	idle     *idleTimer  // nil: no idle timeout
	pause    *time.Timer // until the next attempt to fork
	input    *input      // nil: the job has none
	controls *controls   // nil: none were received

	escalation *escalation
	cause      *messages.Cause // replaced, never modified; nil: the job was not stopped
	exit       *mainExit       // nil: the main process has not exited
	draining   *time.Timer     // ends a drain that goes on
	survivors  []messages.Survivor
	flags      []messages.Flag
	forks      int32 // attempts
	leftovers  int32 // processes that outlived the main process

	phase        phase
	cleaned      bool
	drained      bool        // every byte of the main process is in the logs
	recorded     bool        // the journal has the exit
	drainBlocked bool        // a full store left output in a pipe
	treeGone     bool        // the tree has ended, or its survivors are reported
	paused       atomic.Bool // capture, by a control

	toldMain, toldExited, toldClosed, toldEnded bool // MainExited, ProcessExited, OutputClosed, TreeEnded
}

// stoppedFor returns why the job was stopped; zero: it was not. The caller holds mu.
func (j *job) stoppedFor() messages.Cause {
	if j.cause == nil {
		return messages.Cause{}
	}
	return *j.cause
}

// postForkSpec is the part of a Spec that is needed after the fork.
type postForkSpec struct {
	grace   time.Duration
	onExit  messages.OnExit
	scratch string // file of the job's script
	oom     int64
	sync    bool  // logs are synced before the exit is reported
	stop    uint8 // number of the signal that begins a stop; 0: TERM
}

// mainExit describes the end of the main process.
type mainExit struct {
	status messages.ExitStatus
	rusage messages.Rusage
	at     time.Time
	oom    messages.Tristate
	pipe   []int // of a command in a live shell: messages.End.Pipe
}

func newJob(e *Local, s backends.Spec, b *backends.Binding) *job {
	j := &job{engine: e, id: s.ID, spec: &s, meta: s.Meta, proc: mainProcess{e: e, pidfd: -1}}
	j.bound = b
	j.credits.job = j
	j.idle = newIdleTimer(j, s.Attr.IdleTimeout)
	if typed := s.Stdio.Terminal != (messages.Terminal{}); typed || s.Stdio.Stdin == messages.StdinPipe {
		j.input = &input{typed: typed}
		if typed && s.Stdio.Ended {
			a := &answer{} // without a receiver
			j.controls = &controls{todo: []control{{backends.CloseInput{}, a}}, answers: []*answer{a}}
		}
	}
	j.postFork = postForkSpec{
		grace: s.Grace, onExit: s.OnExit, stop: uint8(messages.SignalNumber(s.Attr.StopSignal)),
		sync: s.Log.Durability == spill.FsyncOnExit,
	}
	if s.Live != nil {
		j.shell = newLiveShell(j, s.Live)
	}
	return j
}

// update changes the state, reports the facts that are due and cleans up after the last
// one. Only goroutines of the engine may call it: it delivers facts.
func (j *job) update(change func()) {
	clean := j.change(change)
	j.tell()
	if clean {
		j.clean()
	}
	j.forgetIfOver()
}

// change does what update does, without delivery. It reports whether clean is due.
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

func (j *job) tell() { j.flush(func(r any) { j.fault(fmt.Errorf("a fact handler panicked: %v", r)) }) }

// tellHelping delivers facts and handles their consequences. The caller holds no lock.
func (j *job) tellHelping() {
	if w := j.engine.opt.Workers; w != nil {
		w.Join()
		defer w.Leave()
	}
	j.tell()
}

// advance reports facts that have become due, in the contract's order: the result, then
// the end of the output and of the tree. The caller holds mu.
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

// reportAll reports the result of a job of which nothing is left. The caller holds mu.
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

// certain reports whether the end of the tree is known although the output is open.
// Where only process groups are visible, a process that holds the output may still run.
func (j *job) certain() bool {
	return j.command != nil || j.escalation != nil || j.tree == nil || j.tree.isolation() != messages.Group
}

// reportMainWaits reports, once, that the main process has exited before its result is
// due. The caller holds mu.
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
		Dir: j.cwd(), Pipe: j.exit.pipe,
	})
}

// cwd returns the directory of a live shell, or the shell's when a command had ended;
// "": unknown or not a shell. The caller holds mu.
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

// flag adds a flag to the job, once. The caller holds mu.
func (j *job) flag(f messages.Flag) {
	if slices.Contains(j.flags, f) {
		return
	}
	j.flags = append(j.flags, f)
}

// clean releases the resources of a job that has ended. It may run before the main
// process is reaped, if that did not end.
func (j *job) clean() {
	j.mu.Lock()
	t, timer, streams := j.tree, j.deadline, j.streams
	j.deadline, j.streams = nil, nil
	j.idle.end()
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

// settle forgets facts, and the job when none is left.
func (j *job) settle(seq uint64) {
	if !j.factQueue.settle(seq) {
		j.forgetIfOver()
	}
}

// forgetIfOver drops a job that has ended and whose facts are settled.
func (j *job) forgetIfOver() {
	j.mu.Lock()
	ended := j.phase == phaseDone
	j.mu.Unlock()
	if ended && !j.factQueue.settle(0) {
		j.engine.forget(j)
	}
}

// adopt binds the job to a new owner.
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

// replayState returns what a new owner must receive beside the numbered facts. The
// caller holds mu.
func (j *job) replayState() []messages.ProcessFact {
	var facts []messages.ProcessFact
	if j.exit != nil && !j.toldExited {
		facts = append(facts, messages.MainExited{Status: j.exit.status, At: j.exit.at})
	}
	if j.idle != nil && j.idle.stopped && j.phase == phaseRunning {
		facts = append(facts, messages.ProcessStopping{Cause: messages.IdleCause(j.idle.limit)})
	}
	if in := j.input; in != nil && in.reported && j.phase == phaseRunning { // the last report may have been lost
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

// fault flags the job. It keeps the descriptors, so the job's output waits.
func (j *job) fault(err error) {
	j.mu.Lock()
	j.flag(messages.FlagKeeperFault)
	j.mu.Unlock()
	j.engine.report(j.id, err)
}
