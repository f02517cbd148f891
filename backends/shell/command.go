package shell

import (
	"sync"
	"time"

	"troupe/backends"
	"troupe/internal/shelltext"
	"troupe/messages"
	"troupe/spill"
)

// command is the backends.Process of one shell command. It keeps calls made before the
// command runs: a shell that has just died refuses it, and its successor gets them
// again.
type command struct {
	executor     *executor
	id           messages.UID
	facts        backends.FactHandler
	what         *backends.Command // nil: the command was adopted
	replacedSent chan struct{}     // closed after SessionReplaced was delivered; nil: the shell is not a replacement

	mu      sync.Mutex
	proc    backends.Process // nil until the engine has answered
	pending []func(backends.Process)
	started bool // or failed: calls are no longer kept
	shell   *shell
	tries   int
}

// maxTries bounds how often a command is given to a shell that has just died.
const maxTries = 3

// start gives the command to the current shell.
func (h *command) start() *messages.Error {
	p := h.executor
	p.mu.Lock()
	s, begin, said, err := p.shellFor()
	p.mu.Unlock()
	if err != nil {
		return err
	}
	if begin != nil {
		s.setProcess(begin())
	}
	h.mu.Lock()
	h.shell, h.tries = s, h.tries+1
	if said != nil {
		h.replacedSent = said
	}
	h.mu.Unlock()
	c := h.what
	text, sameExports := s.textOf(*c)
	h.setProcess(p.backend.engine.Start(backends.Spec{
		ID: c.ID, In: s.id, Script: text, SameExports: sameExports, Stdio: p.stdio(*c), Deadline: c.Deadline, Grace: c.Grace, OnExit: c.OnExit, Log: c.Log, Meta: c.Meta,
		Umask: -1, Attr: messages.ProcAttr{IdleTimeout: c.Attr.IdleTimeout},
	}, h.receive))
	return nil
}

// textOf returns the text that the shell runs for a command, and whether that surely leaves
// the exports as they are.
func (s *shell) textOf(c backends.Command) (text string, sameExports bool) {
	p := s.executor
	plain, program := s.isPlain(), ""
	script := p.driver.scriptOf(c, p.backend.options.Prefix)
	found := shelltext.Examine(script.text, p.driver.grammar, plain)
	if found.Broken {
		program, _ = p.backend.findProgram(p.driver.program(p.at.Shell), p.at.Env)
	}
	if script.exports {
		found.Change = max(found.Change, shelltext.Variables)
	}
	return p.driver.finish(script, found, program), plain && s.keepsExports(found.Change)
}

// setProcess takes the engine's process, and repeats the calls made before. It calls
// the process without mu: the process may wait for a fact handler.
func (h *command) setProcess(proc backends.Process) {
	h.mu.Lock()
	h.proc = proc
	asked := h.pending
	if h.started {
		h.pending = nil
	}
	h.mu.Unlock()
	for _, ask := range asked {
		ask(proc)
	}
}

// forward calls the process now, and again after a new start, until the command runs.
func (h *command) forward(what func(backends.Process)) {
	h.mu.Lock()
	if !h.started && h.what != nil {
		h.pending = append(h.pending, what)
	}
	proc := h.proc
	h.mu.Unlock()
	if proc != nil {
		what(proc)
	}
}

// receive passes facts on. If a shell that has died refused the command, the next shell
// gets it instead.
func (h *command) receive(fact messages.ProcessFact) {
	if f, failed := fact.(messages.ProcessFailed); failed && h.retryStart(f) {
		return
	}
	h.record(fact)
	if h.replacedSent != nil {
		<-h.replacedSent
	}
	h.facts(fact)
	switch f := fact.(type) {
	case messages.ProcessFailed, messages.ProcessLost, messages.ProcessExited:
		h.remove(f)
	}
}

// retryStart gives the command to the next shell, if the shell's death was the reason.
func (h *command) retryStart(f messages.ProcessFailed) bool {
	h.mu.Lock()
	again := f.Err.Code == messages.SessionClosedCode && f.Err.Reason == shellGone && h.what != nil && h.tries < maxTries && !h.started
	proc, s := h.proc, h.shell
	h.mu.Unlock()
	if !again {
		return false
	}
	p := h.executor
	p.mu.Lock()
	again = !p.closing && !p.released
	if again && s != nil {
		s.die()
	}
	p.mu.Unlock()
	if again {
		go h.startAgain(proc, f)
	}
	return again
}

// shellGone is the engine's reason for refusing a command whose shell has ended.
const shellGone = "shell_gone"

// startAgain settles the failed attempt and starts the next.
func (h *command) startAgain(proc backends.Process, f messages.ProcessFailed) {
	if proc == nil {
		h.mu.Lock() // the fact came before Start returned
		proc = h.proc
		h.mu.Unlock()
	}
	if proc != nil {
		proc.Settle(f.Seq)
	}
	h.executor.awaitSnapshot()
	if err := h.start(); err != nil {
		f.Err = *err
		h.record(f)
		h.facts(f)
		h.remove(f)
	}
}

// record updates the executor from a fact.
func (h *command) record(fact messages.ProcessFact) {
	p := h.executor
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
				h.shell.die() // the fact of the shell's own end follows
			}
		}
		p.mu.Unlock()
	default:
		return
	}
	h.mu.Lock()
	h.started, h.pending = true, nil
	h.mu.Unlock()
}

// remove deletes the command from the executor: it has its result.
func (h *command) remove(fact messages.ProcessFact) {
	p := h.executor
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
		return backends.NotStarted{}.Output(s)
	}
	return proc.Output(s)
}

// Do implements backends.Process.
func (h *command) Do(c backends.Control) { h.forward(func(p backends.Process) { p.Do(c) }) }

// Stop implements backends.Process.
func (h *command) Stop(c messages.Cause, grace time.Duration) {
	h.forward(func(p backends.Process) { p.Stop(c, grace) })
}

// NotifyGrowth implements backends.Process.
func (h *command) NotifyGrowth(s messages.Stream, from int64) {
	h.forward(func(p backends.Process) { p.NotifyGrowth(s, from) })
}

// SaveMeta implements backends.Process.
func (h *command) SaveMeta(meta []byte) { h.forward(func(p backends.Process) { p.SaveMeta(meta) }) }

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
	h.forward(func(p backends.Process) { p.Release() })
	h.remove(nil)
}
