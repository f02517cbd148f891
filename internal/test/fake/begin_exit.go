package fake

import (
	"slices"
	"time"

	"troupe/messages"
)

// Children describes the leftovers of a process after its main process exits.
type Children struct {
	N         int  // number of children
	Output    bool // they hold the output open
	Escaped   bool // a process outside of the tree holds it
	Stubborn  bool // they ignore TERM
	Survivors []messages.Survivor
}

// SurvivorWait is how long an engine waits after KILL before it reports survivors.
const SurvivorWait = 2 * time.Second

// Begin starts the process. It fails if the logs cannot be created.
func (p *Process) Begin() bool {
	p.mu.Lock()
	defer p.unlock()
	if p.phase != starting || p.unknown {
		return false
	}
	if err := p.makeLogs(); err != nil {
		p.fail(messages.Error{Code: messages.ResourceExhausted, Message: "there is no log for the output: " + err.Error()}, cannotStart)
		return false
	}
	p.phase = running
	pid := p.engine.pid.Add(1)
	p.start = &messages.ProcessStarted{PID: int(pid), StartTime: uint64(pid), At: time.Now(), Isolation: messages.InCgroup}
	p.say(*p.start)
	p.beginIdle()
	p.doDue()
	p.escalation.begun(p)
	return true
}

// Fail simulates a program that cannot be executed; shell is 127 or 126.
func (p *Process) Fail(err messages.Error, shell int) bool {
	p.mu.Lock()
	defer p.unlock()
	if p.phase != starting || p.unknown {
		return false
	}
	p.fail(err, shell)
	return true
}

func (p *Process) fail(err messages.Error, shell int) {
	p.phase, p.due = failed, nil
	p.escalation.end()
	p.seal()
	p.number(func(seq uint64) messages.ProcessFact {
		return messages.ProcessFailed{Seq: seq, Err: err, Shell: shell, At: time.Now()}
	})
	p.tellWatchers()
}

// Leave sets the leftovers after the exit of the main process.
func (p *Process) Leave(c Children) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leftovers = c
}

// Flag adds a flag to the result.
func (p *Process) Flag(s messages.Stream, f messages.Flag) bool {
	p.mu.Lock()
	defer p.unlock()
	if p.finished() || p.phase == starting {
		return false
	}
	p.flags = append(p.flags, f)
	p.say(messages.LogFlagged{Stream: s, Flag: f})
	return true
}

// AwaitInput simulates a process that waits for input, or stops waiting.
func (p *Process) AwaitInput(waiting bool) bool {
	p.mu.Lock()
	defer p.unlock()
	if p.phase != running || p.unknown {
		return false
	}
	p.say(messages.InputWaiting{Waiting: waiting})
	return true
}

// Exit ends the main process with a code.
func (p *Process) Exit(code int) bool { return p.exitWith(messages.ExitStatus{Code: code}) }

// ExitSignal ends the main process by a signal outside of the escalation, such as
// "SEGV".
func (p *Process) ExitSignal(name string) bool {
	return p.exitWith(messages.ExitStatus{Signal: name, Number: numberOf(name)})
}

func (p *Process) exitWith(status messages.ExitStatus) bool {
	p.mu.Lock()
	defer p.unlock()
	if p.phase != running || p.unknown {
		return false
	}
	p.exit(status)
	return true
}

// HoldDrain delays the result after the exit, like output that is still being drained,
// until HoldDrain(false).
func (p *Process) HoldDrain(hold bool) {
	p.mu.Lock()
	defer p.unlock()
	p.held = hold
	p.settleTree()
}

// CloseOutput simulates the exit of the last writer.
func (p *Process) CloseOutput() bool {
	p.mu.Lock()
	defer p.unlock()
	if p.phase != exited || p.closed || p.unknown || !p.leftovers.Output {
		return false
	}
	p.leftovers.Output = false
	p.settleTree()
	return true
}

// EndTree ends the children.
func (p *Process) EndTree() bool {
	p.mu.Lock()
	defer p.unlock()
	if p.phase != exited || p.ended || p.unknown {
		return false
	}
	p.childrenGone()
	p.settleTree()
	return true
}

// exit ends the main process. Output written before it is captured, even while paused.
func (p *Process) exit(status messages.ExitStatus) {
	p.phase, p.status = exited, status
	if p.Spec.Live != nil {
		p.later = append(p.later, func() { p.shellEnded(status) })
	}
	p.escalation.disinsure()
	p.endIdle()
	p.refuseAnswers()
	p.say(messages.MainExited{Status: status, At: time.Now()})
	if p.paused {
		p.paused = false
		p.capture()
	}
	if p.Spec.OnExit == messages.KillChildren && p.leftovers.N > 0 && !p.escalation.begins {
		p.sent("KILL", true)
		p.childrenGone()
	}
	p.settleTree()
}

// childrenGone ends the children, which closes the output they hold.
func (p *Process) childrenGone() {
	p.leftovers.N = 0
	p.leftovers.Survivors = nil
	if !p.leftovers.Escaped {
		p.leftovers.Output = false
	}
}

// settleTree emits the result, OutputClosed and TreeEnded as far as they are due.
func (p *Process) settleTree() {
	stopped := p.escalation.stopped()
	alive := p.leftovers.N > 0
	if p.phase != exited || p.unknown || !p.told && (p.held || p.undrained() || stopped && alive && !p.escalation.gaveUp) {
		return
	}
	closes, ends := !p.leftovers.Output, !alive || p.escalation.gaveUp
	if !p.told && closes && ends {
		p.sayAll(stopped)
		return
	}
	if !p.told {
		p.told = true
		p.keep(p.result(p.engine.seq.Add(1), 0, stopped))
	}
	if !p.closed && closes {
		p.sayClosed(p.engine.seq.Add(1))
	}
	if !p.ended && ends {
		p.sayEnded(p.engine.seq.Add(1))
	}
}

// sayAll emits the result of a job without leftovers.
func (p *Process) sayAll(stopped bool) {
	last := p.engine.seq.Add(3)
	p.told = true
	p.keep(p.result(last-2, last, stopped))
	p.sayClosed(last - 1)
	p.sayEnded(last)
}

func (p *Process) sayClosed(seq uint64) {
	p.closed = true
	p.seal()
	p.keep(seq, messages.OutputClosed{Seq: seq, Sizes: p.sizes()})
}

func (p *Process) sayEnded(seq uint64) {
	p.ended = true
	p.escalation.end()
	p.keep(seq, messages.TreeEnded{Seq: seq, Survivors: p.survivors()})
	p.tellWatchers()
}

// undrained reports whether output waits for room in its log.
func (p *Process) undrained() bool {
	return slices.ContainsFunc(p.pipe, func(x piece) bool { return p.blocked[x.stream] })
}

func (p *Process) result(seq, last uint64, stopped bool) (uint64, messages.ProcessFact) {
	f := messages.ProcessExited{
		Seq: seq, Last: last, Status: p.status, At: time.Now(), Sizes: p.sizes(), OutputOpen: p.leftovers.Output,
		Children: p.leftovers.N, Survivors: p.survivors(), OOM: messages.No, Flags: p.flags,
	}
	if stopped {
		f.Cause = p.escalation.cause
	}
	if p.shellInterior != nil && p.Spec.Live == nil {
		f.Dir = p.shellInterior.where()
	}
	return seq, f
}

// survivors returns the survivors after the escalation has ended.
func (p *Process) survivors() []messages.Survivor {
	if !p.escalation.gaveUp {
		return nil
	}
	return p.leftovers.Survivors
}

func (p *Process) tellWatchers() {
	left := p.survivors()
	for _, tell := range p.watchers {
		p.afterFacts(func() { tell(left) })
	}
	p.watchers = nil
}

// vanish ends a process that the engine lost.
func (p *Process) vanish() {
	p.mu.Lock()
	defer p.unlock()
	p.unknown = true
	p.escalation.end()
	p.endIdle()
	p.seal()
	p.tellWatchers()
}

// end kills a process at once, for Engine.Close.
func (p *Process) end() []messages.Survivor {
	cause := messages.Cause{By: messages.ByShutdown, Reason: "the engine was closed"}
	if p.Fail(messages.Error{Code: messages.ShuttingDown, Message: "the engine was closed before the program started"}, cannotStart) {
		return nil
	}
	p.stop(cause, 0)
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.leftovers.Survivors
}
