package fake

import (
	"slices"
	"time"

	"troupe/messages"
)

// Children are what a process leaves behind when its main process exits.
type Children struct {
	N         int  // how many
	Output    bool // the output is held open
	Escaped   bool // … by a process that is not of the tree
	Stubborn  bool // they ignore TERM
	Survivors []messages.Survivor
}

// SurvivorWait is how long an engine looks for the end of a killed tree before
// it names the survivors.
const SurvivorWait = 2 * time.Second

// Begin plays the start of the process. One whose logs cannot be made fails.
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
	p.doDue()
	p.escalation.begun(p)
	return true
}

// Fail plays a program that cannot be executed; shell is 127 or 126.
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

// Leave says what will be left when the main process exits.
func (p *Process) Leave(c Children) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.leftovers = c
}

// Flag adds a flag to those of the result.
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

// AwaitInput plays a process that waits for input, or no longer does.
func (p *Process) AwaitInput(waiting bool) bool {
	p.mu.Lock()
	defer p.unlock()
	if p.phase != running || p.unknown {
		return false
	}
	p.say(messages.InputWaiting{Waiting: waiting})
	return true
}

// Exit plays the end of the main process with a code.
func (p *Process) Exit(code int) bool { return p.exitWith(messages.ExitStatus{Code: code}) }

// ExitSignal plays the end of the main process by a signal that is not of the
// ladder: "SEGV".
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

// HoldDrain keeps the result back after the exit, as output that is still
// collected does; HoldDrain(false) lets it go.
func (p *Process) HoldDrain(hold bool) {
	p.mu.Lock()
	defer p.unlock()
	p.held = hold
	p.settleTree()
}

// CloseOutput plays the end of the last writer.
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

// EndTree plays the end of the children.
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

// exit is the end of the main process. What was written before it is captured,
// whoever holds the capture back.
func (p *Process) exit(status messages.ExitStatus) {
	p.phase, p.status = exited, status
	if p.Spec.Live != nil {
		p.later = append(p.later, func() { p.shellEnded(status) })
	}
	p.escalation.disinsure()
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

// childrenGone ends the children, and with them what they held.
func (p *Process) childrenGone() {
	p.leftovers.N = 0
	p.leftovers.Survivors = nil
	if !p.leftovers.Escaped {
		p.leftovers.Output = false
	}
}

// settleTree says what is now due of the result and the two last words.
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

// sayAll says the result of a job of which nothing is left.
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

// survivors are named when the ladder has given up.
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

// vanish is the end of a process that the engine lost.
func (p *Process) vanish() {
	p.mu.Lock()
	defer p.unlock()
	p.unknown = true
	p.escalation.end()
	p.seal()
	p.tellWatchers()
}

// end kills what is left of a process at once, for Engine.Close.
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
