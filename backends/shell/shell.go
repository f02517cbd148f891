package shell

import (
	"maps"
	"slices"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// shell is a live shell of a place: a job of the engine. Guarded by the lock of the
// place.
type shell struct {
	place *executor
	id    messages.UID
	proc  backends.Process // nil until the engine has answered

	dead   bool // its process has ended, or never began
	ended  bool // and nothing of it is left
	closed bool // nor of its output
	last   uint64

	// plain says that it knows no function, alias or trap of its user and runs with no
	// option that changes what words mean: what its commands change can be told.
	plain bool
}

// ownLog bounds what a shell prints beside its commands: what it says when it starts,
// and between them.
const ownLog = 4 << 20

// Lost is what the successor of a shell that died lacks.
const Lost = "its functions, aliases, options and the variables that were not exported are gone, and it knows nothing of the jobs in its background"

// shellFor gives the shell for a command: the one that lives, or a new one. said is
// closed when the place was told of that; nil: there is nothing to tell. Called with mu.
func (p *executor) shellFor() (s *shell, begin func() backends.Process, said chan struct{}, err *messages.Error) {
	if p.current != nil {
		return p.current, nil, nil, nil
	}
	spec, err := p.spec()
	if err != nil {
		return nil, nil, nil, err
	}
	s = &shell{place: p, id: spec.ID, plain: p.beginsPlain()}
	p.shells[s.id], p.current = s, s
	if p.hadShell {
		said = make(chan struct{})
		replaced := messages.SessionReplaced{Scope: p.at.Scope, Session: p.at.Session, Dir: p.dir, Lost: Lost}
		go func() {
			defer close(said)
			p.facts(replaced)
		}()
	}
	return s, func() backends.Process { return p.backend.engine.Start(spec, s.tell) }, said, nil
}

// spec is how the engine is to start a shell. Called with mu.
func (p *executor) spec() (backends.Spec, *messages.Error) {
	d := p.driver
	program, err := p.backend.look(d.program(p.at.Shell), p.at.Env)
	if err != nil {
		return backends.Spec{}, err
	}
	live := &backends.LiveShell{Files: maps.Clone(d.files()), Within: p.backend.options.Within, Syncs: p.backend.onTerminals()}
	dir, start := p.at.Dir, p.takesUp()
	if p.hadShell { // where it was may be gone
		start += d.enter(p.dir, p.at.Dir)
		dir = "/"
	}
	if start != "" {
		live.Files["start"] = start
	}
	if p.former != nil {
		live.From = p.former.id
	}
	return backends.Spec{
		ID: newID(), Argv: append([]string{d.words[0]}, d.words[1:]...), Program: program, Env: slices.Concat(p.environ(), d.env), Dir: dir, Umask: p.at.Umask,
		Stdio: backends.Stdio{Stdin: messages.StdinNull, Streams: messages.MergedStreams, Terminal: p.size()}, OnExit: messages.AdoptChildren,
		Log:  spill.Plan{Group: string(p.at.Session), Quota: ownLog},
		Live: live, Meta: backends.ShellMeta(p.at, p.backend.Name()),
	}, nil
}

// hold goes on with a shell that the engine has.
func (p *executor) hold(h backends.InventoryJob) {
	s := &shell{place: p, id: h.ID, dead: !h.Live}
	p.mu.Lock()
	if p.shells[s.id] != nil { // the engine has it, and a former place had
		p.mu.Unlock()
		return
	}
	p.shells[s.id], p.hadShell = s, true
	switch {
	case s.dead:
		if p.former == nil || p.former.id < s.id {
			p.former = s
		}
	case p.current == nil || p.current.id < s.id:
		p.current = s
	}
	p.mu.Unlock()
	proc, err := p.backend.engine.Adopt(h.ID, s.tell)
	if err != nil { // nothing of it is left
		p.mu.Lock()
		defer p.mu.Unlock()
		s.die()
		delete(p.shells, s.id)
		return
	}
	s.is(proc)
}

// is takes the engine's answer.
func (s *shell) is(proc backends.Process) {
	s.place.mu.Lock()
	s.proc = proc
	late, silent := s.place.closing, s.place.released
	s.place.mu.Unlock()
	switch {
	case silent && !late:
		proc.Release()
	case late:
		proc.Stop(messages.Cause{By: messages.ByScope, Reason: "its session was closed"}, 0)
	}
	s.place.settleShells()
}

// tell takes what the engine says of the shell.
func (s *shell) tell(fact messages.ProcessFact) {
	p := s.place
	p.mu.Lock()
	switch f := fact.(type) {
	case messages.ProcessStarted:
		if p.former != nil && p.former != s && p.former.id < s.id {
			p.former = nil // what it kept is this one's now
		}
	case messages.ProcessFailed:
		s.over(f.Seq, nil)
	case messages.MainExited:
		s.die()
	case messages.ProcessExited:
		s.die()
		s.last = max(s.last, f.Seq, f.Last)
		if f.Dir != "" && p.former == s {
			p.dir = f.Dir
		}
		if f.Last > 0 {
			s.over(f.Last, f.Survivors)
		}
	case messages.ProcessLost:
		s.over(f.Seq, f.Survivors)
	case messages.OutputClosed:
		s.closed, s.last = true, max(s.last, f.Seq)
	case messages.TreeEnded:
		s.end(f.Seq, f.Survivors)
	}
	p.mu.Unlock()
	p.settleShells()
}

// die notes that the shell takes no more commands. Called with mu of the place.
func (s *shell) die() {
	s.dead = true
	if s.place.current == s {
		s.place.current = nil
		s.place.former = s
	}
}

// over is the last word about a shell. Called with mu of the place.
func (s *shell) over(seq uint64, survivors []messages.Survivor) {
	s.die()
	s.closed = true
	s.end(seq, survivors)
}

// end notes that nothing of the shell is left. Called with mu of the place.
func (s *shell) end(seq uint64, survivors []messages.Survivor) {
	s.last = max(s.last, seq)
	if s.ended {
		return
	}
	s.ended = true
	if s.place.closing {
		s.place.survivors = append(s.place.survivors, survivors...)
	}
	s.place.finish()
}

// settleShells lets the engine forget shells that are over, but for the last, whose
// successor takes over what it kept.
func (p *executor) settleShells() {
	type due struct {
		proc backends.Process
		seq  uint64
	}
	var list []due
	p.mu.Lock()
	for id, s := range p.shells {
		if s.ended && s.closed && s.proc != nil && (s != p.former || p.closing) {
			list = append(list, due{s.proc, s.last})
			delete(p.shells, id)
		}
	}
	p.mu.Unlock()
	if len(list) > 0 {
		go func() { // a listener does not call back
			for _, d := range list {
				d.proc.Settle(d.seq)
			}
		}()
	}
}
