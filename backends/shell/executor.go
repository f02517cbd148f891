package shell

import (
	"cmp"
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"troupe/backends"
	"troupe/messages"
)

// executor runs the commands of one session, in one shell after another.
type executor struct {
	backend *Backend
	at      backends.ExecutorSpec
	driver  *driver
	facts   backends.FactHandler

	mu        sync.Mutex
	dir       string                    // last known directory of the shell
	shells    map[messages.UID]*shell   // shells that are not settled
	current   *shell                    // the shell that takes commands; nil: the next command starts one
	former    *shell                    // the shell before current, if it died
	hadShell  bool                      // a command has started in a shell
	commands  map[messages.UID]*command // commands without a result
	closing   bool
	survivors []messages.Survivor // of trees stopped by Close
	released  bool                // closed or released: no more facts are sent
	snapshot  string              // file that the next shell sources; "": none

	ctx      context.Context // ends with Close or Release; bounds the wait for a snapshot
	cancel   context.CancelFunc
	starting sync.Mutex // held while a command that may wait for a snapshot is given to the engine
}

// Check implements backends.Executor. Only the first shell's directory must exist:
// later the shell itself enters directories and reports a missing one.
func (p *executor) Check(c backends.Command) *messages.Error {
	if err := p.checkWords(c); err != nil {
		return err
	}
	p.mu.Lock()
	has, lived := p.current != nil, p.hadShell
	p.mu.Unlock()
	if has {
		return nil
	}
	_, err := p.backend.findProgram(p.driver.program(p.at.Shell), p.at.Env)
	if err == nil && !lived {
		err = checkDir(p.at.Dir)
	}
	return err
}

// checkDir reports a directory in which no shell can start. The engine reports
// a directory that cannot be inspected.
func checkDir(dir string) *messages.Error {
	info, err := os.Stat(dir)
	switch {
	case err == nil && !info.IsDir(), errors.Is(err, syscall.ENOTDIR):
		return &messages.Error{Code: messages.CwdNotDir, Reason: "ENOTDIR", Message: "Working directory is not a directory: " + dir, Hint: "name a directory"}
	case dir != "" && errors.Is(err, fs.ErrNotExist):
		return &messages.Error{Code: messages.CwdNotFound, Reason: "ENOENT", Message: "Working directory does not exist: " + dir, Hint: "create it, or name one that exists"}
	}
	return nil
}

// checkWords makes the checks that need no system call.
func (p *executor) checkWords(c backends.Command) *messages.Error {
	unsupported := func(reason, text, hint string) *messages.Error {
		return &messages.Error{Code: messages.Unsupported, Reason: reason, Message: text, Hint: hint}
	}
	switch {
	case c.Stdio.Terminal != (messages.Terminal{}) && !p.backend.onTerminals():
		return unsupported("terminal", "the shell of this session is on pipes and has no terminal", "open a session on a terminal, or run the command without one")
	case badSize(c.Stdio.Terminal) != nil:
		return badSize(c.Stdio.Terminal)
	case c.Text == "" && len(c.Argv) == 0:
		return messages.Invalid("empty_command", "there is no command to run")
	case c.Detach:
		return unsupported("detach", "a command in a live shell cannot be detached", "run it in a session on pipes")
	case c.OnExit == messages.KeepChildren:
		return unsupported("on_exit", "the live shell owns what a command leaves running, and stops it at its own end", "run it in a session on pipes, or start it with setsid in another")
	case c.Stdio.Stdin == messages.StdinHost:
		return unsupported("stdin", "a command in a live shell cannot read the standard input of its host", "give it a pipe")
	case c.Dir != "" && !filepath.IsAbs(c.Dir):
		return messages.Invalid("cwd", "the working directory "+c.Dir+" is not absolute")
	case c.Shell != "" && p.shell() != c.Shell:
		return &messages.Error{
			Code: messages.Conflict, Reason: "shell", Message: "the session runs " + p.shell() + ", the command is for " + c.Shell,
			Hint: "open another session for it",
		}
	}
	return nil
}

// Runnable implements backends.Executor.
func (p *executor) Runnable(c backends.Command) bool {
	return p.checkWords(c) == nil && p.hasShell()
}

func (p *executor) hasShell() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current != nil
}

// Start implements backends.Executor.
func (p *executor) Start(c backends.Command, facts backends.FactHandler) backends.Process {
	p.mu.Lock()
	if p.closing || p.released {
		p.mu.Unlock()
		return backends.FailStart(facts, *closedError())
	}
	h := &command{executor: p, id: c.ID, facts: facts, what: &c}
	p.commands[c.ID] = h
	wait := p.wantsSnapshot()
	p.mu.Unlock()
	if wait {
		go h.startAfterSnapshot()
		return h
	}
	p.starting.Lock()
	defer p.starting.Unlock()
	if err := h.start(); err != nil {
		h.remove(nil)
		return backends.FailStart(facts, *err)
	}
	return h
}

func closedError() *messages.Error {
	return &messages.Error{Code: messages.SessionClosedCode, Message: "the session is closed", Hint: "open it again"}
}

// shell returns the name or path of the session's shell.
func (p *executor) shell() string { return cmp.Or(p.at.Shell, DefaultShell) }

// Adopt implements backends.Executor.
func (p *executor) Adopt(id messages.UID, facts backends.FactHandler) (backends.Process, error) {
	h := &command{executor: p, id: id, facts: facts}
	p.mu.Lock()
	p.commands[id] = h
	p.mu.Unlock()
	proc, err := p.backend.engine.Adopt(id, h.receive)
	if err != nil {
		h.remove(nil)
		return nil, err
	}
	h.setProcess(proc)
	return h, nil
}

// Yield implements backends.Executor. Processes that the job left in the shell stay
// there.
func (p *executor) Yield(id messages.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.commands, id)
	p.finish()
}

// Release implements backends.Executor.
func (p *executor) Release() {
	p.mu.Lock()
	if !p.released {
		p.keepReleased()
	}
	p.released = true
	p.cancel()
	var procs []backends.Process
	for _, s := range p.shells {
		if s.proc != nil {
			procs = append(procs, s.proc)
		}
	}
	p.mu.Unlock()
	for _, proc := range procs {
		proc.Release()
	}
}

// Close implements backends.Executor. It stops the shells, and with them all that their
// commands started.
func (p *executor) Close(grace time.Duration) {
	p.mu.Lock()
	if p.closing || p.released {
		p.mu.Unlock()
		return
	}
	p.closing, p.former = true, nil
	p.cancel()
	var procs []backends.Process
	for _, s := range p.shells {
		if s.proc != nil {
			procs = append(procs, s.proc)
		}
	}
	p.finish()
	p.mu.Unlock()
	for _, proc := range procs {
		proc.Stop(messages.Cause{By: messages.ByScope, Reason: "its session was closed"}, max(grace, 0))
	}
	p.settleShells()
}

// finish sends ShellClosed once, after the last command and shell have ended. The
// caller holds mu.
func (p *executor) finish() {
	if !p.closing || p.released || len(p.commands) > 0 {
		return
	}
	for _, s := range p.shells {
		if !s.ended {
			return
		}
	}
	p.released = true
	go p.facts(messages.ShellClosed{Survivors: p.survivors})
}
