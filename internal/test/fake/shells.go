package fake

import (
	"fmt"
	"sync"

	"troupe/backends"
	"troupe/messages"
)

// Live are the capabilities of a live shell on pipes.
func Live() backends.Capabilities {
	return backends.Capabilities{
		Parallel: 1, Queue: 32, Keeps: true, Input: true, Separate: true, Signals: true, Attribute: true, Outlive: true,
	}
}

// ShellBackend is the engine as a kind of session that is a live shell. The shell is
// a process of the engine (Engine.Shells), begins with the first command, and is made
// anew for the next one when it has died. Commands are played as others are; one that
// is to end with its shell is played by that.
//
// A place finds its shell again by what it held, or because the same backend had it.
func (e *Engine) ShellBackend() *Backend {
	return &Backend{engine: e, name: messages.BackendShell, can: Live(), owners: &shellOwners{shells: map[shellOwner]*Process{}}}
}

// shellOwner is whose a live shell is.
type shellOwner struct {
	scope   messages.ScopePath
	session messages.SessionID
}

// shellOwners is what a backend of live shells knows of the places it has opened.
type shellOwners struct {
	mu     sync.Mutex
	shells map[shellOwner]*Process
}

// shellInterior is the inside of a live shell: of its own process and its commands.
type shellInterior struct {
	mu      sync.Mutex
	dir     string
	running *Process
}

func (i *shellInterior) where() string {
	i.mu.Lock()
	defer i.mu.Unlock()
	return i.dir
}

func (i *shellInterior) move(dir string) {
	if dir == "" {
		return
	}
	i.mu.Lock()
	defer i.mu.Unlock()
	i.dir = dir
}

// Cd plays a change of the directory of a live shell, by a command in it.
func (p *Process) Cd(dir string) bool {
	if p.shellInterior == nil {
		return false
	}
	p.shellInterior.move(dir)
	return true
}

// Shells are the live shells of the engine that have not ended.
func (e *Engine) Shells() []*Process {
	var all []*Process
	for _, p := range e.Live() {
		if p.Spec.Live != nil {
			all = append(all, p)
		}
	}
	return all
}

// Shell gives the shell that a command runs in, or nil.
func (p *Process) Shell() *Process { return p.engine.get(p.Spec.In) }

// live is the shell of a place, and who hears of it.
type live struct {
	process *Process
	held    backends.Process
}

// alive reports whether the shell takes commands.
func (l *live) alive() bool {
	if l == nil {
		return false
	}
	l.process.mu.Lock()
	defer l.process.mu.Unlock()
	return l.process.phase == running && !l.process.unknown && !l.process.escalation.begins
}

// find binds the place to the shell it had, if there is one.
func (s *shell) find(held []backends.InventoryJob) {
	m := s.backend.owners
	m.mu.Lock()
	defer m.mu.Unlock()
	had := m.shells[s.owner()]
	for _, h := range held {
		if p := s.engine.get(h.ID); p != nil && p.Spec.Live != nil {
			had = p
			s.adoptShell(p)
		}
	}
	if s.live == nil && had != nil {
		s.adoptShell(had)
	}
	if had != nil {
		m.shells[s.owner()] = had
	}
}

// adoptShell takes up a shell that is there, or the memory of one that has died.
func (s *shell) adoptShell(p *Process) {
	l := &live{process: p}
	if proc, err := s.engine.Adopt(p.ID, s.shellFacts(l)); err == nil {
		l.held = proc
		s.take(p.ID)
	}
	s.live = l
}

// shellFacts settles what the engine says of a shell: its place alone hears of it.
func (s *shell) shellFacts(l *live) backends.FactHandler {
	return func(fact messages.ProcessFact) {
		last := uint64(0)
		switch f := fact.(type) {
		case messages.ProcessExited:
			last = max(f.Seq, f.Last)
		case messages.ProcessFailed:
			last = f.Seq
		case messages.OutputClosed:
			last = f.Seq
		case messages.TreeEnded:
			last = f.Seq
		}
		if last > 0 {
			l.process.settle(last)
		}
	}
}

// forget gives up the seat: who opens it again gets a shell that has not died.
func (s *shell) forget() {
	m := s.backend.owners
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.shells, s.owner())
}

func (s *shell) owner() shellOwner { return shellOwner{s.place.Scope, s.place.Session} }

// enter gives the shell for a command, made anew if it has died.
func (s *shell) enter() *Process {
	s.entering.Lock()
	defer s.entering.Unlock()
	if s.live.alive() {
		return s.live.process
	}
	at := s.place
	died := s.live != nil
	if died {
		at.Dir = s.live.process.shellInterior.where()
	}
	for _, p := range s.engine.Shells() {
		if place, _, is := backends.ReadShellMeta(p.Spec.Meta); is && place.Scope == at.Scope && place.Session == at.Session && !p.ending() {
			s.engine.violate("session %s of %s has a second shell beside %s", at.Session, at.Scope, p.ID)
		}
	}
	id := messages.UID(fmt.Sprintf("SHELL%d", s.engine.shells.Add(1)))
	l := &live{}
	s.live = l
	p := newProcess(s.engine, backends.Spec{
		ID: id, Argv: []string{"shell"}, Env: at.Env, Dir: at.Dir, Umask: at.Umask, Live: &backends.LiveShell{}, Meta: backends.ShellMeta(at, s.backend.Name()),
	}, backends.Command{}, at)
	p.shellInterior, p.nature = &shellInterior{dir: at.Dir}, Obedient
	l.process = p
	s.engine.mu.Lock()
	s.engine.known[id] = p
	s.engine.ever = append(s.engine.ever, p)
	s.engine.mu.Unlock()
	l.held = p.bind(s.shellFacts(l))
	p.Begin()
	s.take(id)
	m := s.backend.owners
	m.mu.Lock()
	m.shells[s.owner()] = p
	m.mu.Unlock()
	if died {
		s.facts(messages.SessionReplaced{Dir: at.Dir, Lost: "functions, variables that were not exported, and what ran in the background"})
	}
	return p
}

// ending reports whether a process was asked to end.
func (p *Process) ending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.escalation.begins
}

// enters makes a command one of a shell.
func (p *Process) enters(shell *Process) {
	in := shell.shellInterior
	in.mu.Lock()
	before := in.running
	p.shellInterior, in.running = in, p
	if p.Spec.Dir != "" {
		in.dir = p.Spec.Dir
	}
	in.mu.Unlock()
	if before != nil && before.running() {
		p.engine.violate("%s was started in a shell that runs %s", p.ID, before.ID)
	}
}

// running reports whether the process has not ended.
func (p *Process) running() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.unknown && (p.phase == starting || p.phase == running)
}

// shellEnded ends the command that ran in a shell with it.
func (p *Process) shellEnded(status messages.ExitStatus) {
	p.shellInterior.mu.Lock()
	r := p.shellInterior.running
	p.shellInterior.mu.Unlock()
	if r == nil {
		return
	}
	r.mu.Lock()
	defer r.unlock()
	if r.phase == running && !r.unknown {
		r.flags = append(r.flags, messages.FlagSessionEnded)
		r.exit(status)
	}
}
