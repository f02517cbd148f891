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

// executor is where the commands of one session run: in one shell after another.
type executor struct {
	backend *Backend
	at      backends.ExecutorSpec
	driver  *driver
	facts   backends.FactHandler

	mu        sync.Mutex
	dir       string                    // where the shell is, as far as it is known
	shells    map[messages.UID]*shell   // of which something is left
	current   *shell                    // takes commands; nil: the next one makes it
	former    *shell                    // the one before that, if it died
	hadShell  bool                      // there was one that took a command
	commands  map[messages.UID]*command // that have no result yet
	closing   bool
	survivors []messages.Survivor // of what was ended by Close
	released  bool                // closed or released: nothing more is said
	snapshot  string              // the file that the next shell takes up; "": none

	while    context.Context // what is waited for for the place
	end      context.CancelFunc
	starting sync.Mutex // whoever holds it gives a command to the engine that was waited for
}

// Check implements backends.Shell. The directory of a command is for the shell to enter:
// one for a directory that is not there fails as it would if it were typed. That of the
// first shell must be there.
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
	_, err := p.backend.look(p.driver.program(p.at.Shell), p.at.Env)
	if err == nil && !lived {
		err = checkDir(p.at.Dir)
	}
	return err
}

// checkDir says why no shell can begin in a directory. What cannot be looked at
// is for the engine to enter.
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

// checkWords looks at what can be told without looking anywhere.
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
		return unsupported("on_exit", "what a command leaves behind belongs to the live shell, and ends with it", "run it in a session on pipes, or start it with setsid in another")
	case c.Stdio.Stdin == messages.StdinHost:
		return unsupported("stdin", "a command in a live shell cannot read the standard input of its host", "give it a pipe")
	case c.Dir != "" && !filepath.IsAbs(c.Dir):
		return messages.Invalid("cwd", "the working directory "+c.Dir+" is not absolute")
	case c.Shell != "" && p.shell() != c.Shell:
		return &messages.Error{
			Code: messages.Conflict, Reason: "shell", Message: "the session is a " + p.shell() + ", and the command is for " + c.Shell,
			Hint: "open another session for it",
		}
	}
	return nil
}

// Runnable implements backends.Shell.
func (p *executor) Runnable(c backends.Command) bool {
	return p.checkWords(c) == nil && p.hasShell()
}

func (p *executor) hasShell() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.current != nil
}

// Start implements backends.Shell.
func (p *executor) Start(c backends.Command, facts backends.FactHandler) backends.Process {
	p.mu.Lock()
	if p.closing || p.released {
		p.mu.Unlock()
		return stillborn(facts, *closedError())
	}
	h := &command{place: p, id: c.ID, facts: facts, what: &c}
	p.commands[c.ID] = h
	wait := p.wantsSnapshot()
	p.mu.Unlock()
	if wait {
		go h.begin()
		return h
	}
	p.starting.Lock()
	defer p.starting.Unlock()
	if err := h.start(); err != nil {
		h.leave(nil)
		return stillborn(facts, *err)
	}
	return h
}

func closedError() *messages.Error {
	return &messages.Error{Code: messages.SessionClosedCode, Message: "the session is closed", Hint: "open it again"}
}

// shell is the shell of the place, by its name or path.
func (p *executor) shell() string { return cmp.Or(p.at.Shell, DefaultShell) }

// Adopt implements backends.Shell.
func (p *executor) Adopt(id messages.UID, facts backends.FactHandler) (backends.Process, error) {
	h := &command{place: p, id: id, facts: facts}
	p.mu.Lock()
	p.commands[id] = h
	p.mu.Unlock()
	proc, err := p.backend.engine.Adopt(id, h.tell)
	if err != nil {
		h.leave(nil)
		return nil, err
	}
	h.is(proc)
	return h, nil
}

// Yield implements backends.Shell. What the job left in the shell stays there.
func (p *executor) Yield(id messages.UID) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.commands, id)
	p.finish()
}

// Release implements backends.Shell.
func (p *executor) Release() {
	p.mu.Lock()
	if !p.released {
		p.leaveBehind()
	}
	p.released = true
	p.end()
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

// Close implements backends.Shell: the shells are ended, and with them what their
// commands run and left behind.
func (p *executor) Close(grace time.Duration) {
	p.mu.Lock()
	if p.closing || p.released {
		p.mu.Unlock()
		return
	}
	p.closing, p.former = true, nil
	p.end()
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

// finish says ShellClosed, once, when nothing is left to wait for. Called with mu.
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
