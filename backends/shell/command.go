package shell

import (
	"sync"
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// command is one command of a place as its owner holds it. What is asked of it before
// it runs is noted: the shell it is given to may have died a moment ago, and the next
// is asked again.
type command struct {
	place *executor
	id    messages.UID
	facts backends.FactHandler
	what  *backends.Command // nil: it was adopted
	said  chan struct{}     // closed when the place was told that the shell is another; nil: it is not

	mu    sync.Mutex
	proc  backends.Process // nil until the engine has answered
	asked []func(backends.Process)
	runs  bool // or has failed: nothing more is noted
	shell *shell
	tries int
}

// maxTries bounds how often a command is given to a shell that has just died.
const maxTries = 3

// start gives the command to the shell of the place.
func (h *command) start() *messages.Error {
	p := h.place
	p.mu.Lock()
	s, begin, said, err := p.shellFor()
	p.mu.Unlock()
	if err != nil {
		return err
	}
	if begin != nil {
		s.is(begin())
	}
	h.mu.Lock()
	h.shell, h.tries = s, h.tries+1
	if said != nil {
		h.said = said
	}
	h.mu.Unlock()
	c := h.what
	text := p.driver.text(*c, p.backend.options.Prefix)
	h.is(p.backend.engine.Start(backends.Spec{
		ID: c.ID, In: s.id, Script: text, SameExports: s.keepsExports(text), Stdio: p.stdio(*c), Deadline: c.Deadline, Grace: c.Grace, OnExit: c.OnExit, Log: c.Log, Meta: c.Meta,
		Umask: -1,
	}, h.tell))
	return nil
}

// is takes the engine's answer, and asks what was noted before. A process is called
// without the lock: it may wait for a fact that is being told.
func (h *command) is(proc backends.Process) {
	h.mu.Lock()
	h.proc = proc
	asked := h.asked
	if h.runs {
		h.asked = nil
	}
	h.mu.Unlock()
	for _, ask := range asked {
		ask(proc)
	}
}

// ask asks the process, now and, as long as it does not run, of the next again.
func (h *command) ask(what func(backends.Process)) {
	h.mu.Lock()
	if !h.runs && h.what != nil {
		h.asked = append(h.asked, what)
	}
	proc := h.proc
	h.mu.Unlock()
	if proc != nil {
		what(proc)
	}
}

// tell passes on what the engine says, but for the refusal of a shell that has died:
// then the command goes to the next.
func (h *command) tell(fact messages.ProcessFact) {
	if f, failed := fact.(messages.ProcessFailed); failed && h.goesOn(f) {
		return
	}
	h.note(fact)
	if h.said != nil {
		<-h.said
	}
	h.facts(fact)
	switch f := fact.(type) {
	case messages.ProcessFailed, messages.ProcessLost, messages.ProcessExited:
		h.leave(f)
	}
}

// goesOn gives the command to the next shell, if that is why it was refused.
func (h *command) goesOn(f messages.ProcessFailed) bool {
	h.mu.Lock()
	again := f.Err.Code == messages.SessionClosedCode && f.Err.Reason == goneReason && h.what != nil && h.tries < maxTries && !h.runs
	proc, s := h.proc, h.shell
	h.mu.Unlock()
	if !again {
		return false
	}
	p := h.place
	p.mu.Lock()
	again = !p.closing && !p.released
	if again && s != nil {
		s.die()
	}
	p.mu.Unlock()
	if again {
		go h.again(proc, f)
	}
	return again
}

// goneReason is the reason with which an engine refuses a command for a shell that has
// ended.
const goneReason = "shell_gone"

// again is the next try. The engine forgets the one before.
func (h *command) again(proc backends.Process, f messages.ProcessFailed) {
	if proc == nil {
		h.mu.Lock() // the engine told it before it answered
		proc = h.proc
		h.mu.Unlock()
	}
	if proc != nil {
		proc.Settle(f.Seq)
	}
	h.place.awaitSnapshot()
	if err := h.start(); err != nil {
		f.Err = *err
		h.note(f)
		h.facts(f)
		h.leave(f)
	}
}

// note takes what the place has to know of a fact.
func (h *command) note(fact messages.ProcessFact) {
	p := h.place
	switch f := fact.(type) {
	case messages.ProcessStarted:
		p.mu.Lock()
		p.hadShell = true
		p.mu.Unlock()
	case messages.ProcessFailed:
	case messages.ProcessExited:
		p.mu.Lock()
		if f.Dir != "" {
			p.dir = f.Dir
		}
		for _, flag := range f.Flags {
			if flag == messages.FlagSessionEnded && h.shell != nil {
				h.shell.die() // the shell's own end is told in a moment
			}
		}
		p.mu.Unlock()
	default:
		return
	}
	h.mu.Lock()
	h.runs, h.asked = true, nil
	h.mu.Unlock()
}

// leave takes the command out of the place: it has its result.
func (h *command) leave(fact messages.ProcessFact) {
	p := h.place
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.commands[h.id] != h {
		return
	}
	delete(p.commands, h.id)
	if f, ok := fact.(messages.ProcessExited); ok && p.closing {
		p.survivors = append(p.survivors, f.Survivors...)
	}
	p.finish()
}

// Output implements backends.Process.
func (h *command) Output(s messages.Stream) (spill.Log, error) {
	h.mu.Lock()
	proc := h.proc
	h.mu.Unlock()
	if proc == nil {
		return unstartedProcess{}.Output(s)
	}
	return proc.Output(s)
}

// Do implements backends.Process.
func (h *command) Do(c backends.Control) { h.ask(func(p backends.Process) { p.Do(c) }) }

// Stop implements backends.Process.
func (h *command) Stop(c messages.Cause, grace time.Duration) {
	h.ask(func(p backends.Process) { p.Stop(c, grace) })
}

// NotifyGrowth implements backends.Process.
func (h *command) NotifyGrowth(s messages.Stream, from int64) {
	h.ask(func(p backends.Process) { p.NotifyGrowth(s, from) })
}

// SaveMeta implements backends.Process.
func (h *command) SaveMeta(meta []byte) { h.ask(func(p backends.Process) { p.SaveMeta(meta) }) }

// Settle implements backends.Process.
func (h *command) Settle(seq uint64) {
	h.mu.Lock()
	proc := h.proc
	h.mu.Unlock()
	if proc != nil {
		proc.Settle(seq)
	}
}

// Release implements backends.Process.
func (h *command) Release() {
	h.ask(func(p backends.Process) { p.Release() })
	h.leave(nil)
}

// stillborn is a command of which the engine never heard.
func stillborn(facts backends.FactHandler, err messages.Error) backends.Process {
	go facts(failed(err))
	return unstartedProcess{}
}

// failed is the fact about it.
func failed(err messages.Error) messages.ProcessFailed {
	return messages.ProcessFailed{Err: err, Shell: cannotRun, At: time.Now()}
}

// cannotRun is what a shell answers that cannot execute a command.
const cannotRun = 126

// unstartedProcess is the process of a command that was never started.
type unstartedProcess struct{}

func (unstartedProcess) Output(messages.Stream) (spill.Log, error) {
	return nil, &messages.Error{Code: messages.OutputUnavailable, Message: "the job was never started: it has no output"}
}
func (unstartedProcess) Do(backends.Control)                 {}
func (unstartedProcess) Stop(messages.Cause, time.Duration)  {}
func (unstartedProcess) NotifyGrowth(messages.Stream, int64) {}
func (unstartedProcess) SaveMeta([]byte)                     {}
func (unstartedProcess) Settle(uint64)                       {}
func (unstartedProcess) Release()                            {}
