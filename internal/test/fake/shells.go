package fake

import (
	"fmt"
	"sync"

	"troupe/backends"
	"troupe/messages"
)

// Live returns the capabilities of a live shell on pipes.
func Live() backends.Capabilities {
	return backends.Capabilities{
		Parallel: 1, Queue: 32, Keeps: true, Input: true, Separate: true, Signals: true, Attribute: true, Outlive: true,
	}
}

// ShellBackend returns the engine as a backend of live shells. A shell is a process of
// the engine (Engine.Shells). It starts with the first command, and again for the next
// command after it has died. Its commands are simulated like others; a test can end
// them with their shell.
//
// A session finds its shell by the inventory, or because the same backend had it.
func (e *Engine) ShellBackend() *Backend {
	return &Backend{engine: e, name: messages.BackendShell, can: Live(), owners: &shellOwners{shells: map[shellOwner]*Process{}}}
}

// shellOwner names the session of a live shell.
type shellOwner struct {
	scope   messages.ScopePath
	session messages.SessionID
}

// shellOwners holds the live shells of the open sessions.
type shellOwners struct {
	mu     sync.Mutex
	shells map[shellOwner]*Process
}

// shellInterior is the state inside a live shell, shared by its process and its
// commands.
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

// Cd simulates a command that changes the directory of its live shell.
func (p *Process) Cd(dir string) bool {
	if p.shellInterior == nil {
		return false
	}
	p.shellInterior.move(dir)
	return true
}

// Shells returns the live shells that have not ended.
func (e *Engine) Shells() []*Process {
	var all []*Process
	for _, p := range e.Live() {
		if p.Spec.Live != nil {
			all = append(all, p)
		}
	}
	return all
}

// Shell returns the shell that a command runs in, or nil.
func (p *Process) Shell() *Process { return p.engine.get(p.Spec.In) }

// live is the live shell of a session and its handle.
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

// find binds the session to the shell it had, if any.
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

// adoptShell adopts an existing shell, or keeps the state of a dead one.
func (s *shell) adoptShell(p *Process) {
	l := &live{process: p}
	if proc, err := s.engine.Adopt(p.ID, s.shellFacts(l)); err == nil {
		l.held = proc
		s.take(p.ID)
	}
	s.live = l
}

// shellFacts settles the facts of a shell, which only its session receives.
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

// forget drops the shell, so that the next session of this name gets a new one.
func (s *shell) forget() {
	m := s.backend.owners
	m.mu.Lock()
	defer m.mu.Unlock()
	delete(m.shells, s.owner())
}

func (s *shell) owner() shellOwner { return shellOwner{s.place.Scope, s.place.Session} }

// enter returns the shell for a command. It starts a new one if the last has died.
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
		ID: id, Argv: []string{"shell"}, Env: at.Env, Dir: at.Dir, Umask: at.Umask, Live: &backends.LiveShell{}, Meta: backends.ShellMeta(at, s.backend.Name()), Attr: messages.ProcAttr{Limits: at.Limits},
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

// ending reports whether a process was asked to stop.
func (p *Process) ending() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.escalation.begins
}

// enters puts a command into a shell.
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

// shellEnded ends the command in a shell that has ended.
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
