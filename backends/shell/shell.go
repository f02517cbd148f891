package shell

import (
	"maps"
	"slices"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// shell is one live shell of an executor: a job of the engine. The executor's mu guards
// it.
type shell struct {
	executor *executor
	id       messages.UID
	proc     backends.Process // nil until the engine has answered

	dead   bool   // the process has ended or never started
	ended  bool   // the process tree has ended
	closed bool   // its output has ended
	last   uint64 // number of the last fact

	// plain: the shell has no functions, aliases, traps or options of its user, so the text
	// of a command shows what it changes.
	plain bool
}

// ownLog bounds, in bytes, what a shell prints while no command runs.
const ownLog = 4 << 20

// Lost names the state that the successor of a dead shell lacks.
const Lost = "its functions, aliases, options and the variables that were not exported are gone, and its background jobs are not known to the new shell"

// shellFor returns the current shell, or a new one and begin, which starts it. If the
// new shell replaces another, said closes after SessionReplaced was delivered. The
// caller holds mu.
func (p *executor) shellFor() (s *shell, begin func() backends.Process, said chan struct{}, err *messages.Error) {
	if p.current != nil {
		return p.current, nil, nil, nil
	}
	spec, err := p.spec()
	if err != nil {
		return nil, nil, nil, err
	}
	s = &shell{executor: p, id: spec.ID, plain: p.beginsPlain()}
	p.shells[s.id], p.current = s, s
	if p.hadShell {
		said = make(chan struct{})
		replaced := messages.SessionReplaced{Scope: p.at.Scope, Session: p.at.Session, Dir: p.dir, Lost: Lost}
		go func() {
			defer close(said)
			p.facts(replaced)
		}()
	}
	return s, func() backends.Process { return p.backend.engine.Start(spec, s.receive) }, said, nil
}

// spec builds the engine's spec of a new shell. The caller holds mu.
func (p *executor) spec() (backends.Spec, *messages.Error) {
	d := p.driver
	program, err := p.backend.findProgram(d.program(p.at.Shell), p.at.Env)
	if err != nil {
		return backends.Spec{}, err
	}
	live := &backends.LiveShell{Files: maps.Clone(d.files()), Within: p.backend.options.Within, Syncs: p.backend.onTerminals()}
	dir, start := p.at.Dir, p.snapshotText()
	if p.hadShell { // the last directory may have been removed
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
		ID: newULID(), Argv: append([]string{d.argv[0]}, d.argv[1:]...), Program: program, Env: slices.Concat(p.environ(), d.env), Dir: dir, Umask: p.at.Umask,
		Stdio: backends.Stdio{Stdin: messages.StdinNull, Streams: messages.MergedStreams, Terminal: p.size()}, OnExit: messages.AdoptChildren,
		Log:  spill.Plan{Group: string(p.at.Session), Quota: ownLog},
		Live: live, Meta: backends.ShellMeta(p.at, p.backend.Name()), Attr: messages.ProcAttr{Limits: p.at.Limits},
	}, nil
}

// adoptShell adopts a shell that the engine already runs.
func (p *executor) adoptShell(h backends.InventoryJob) {
	s := &shell{executor: p, id: h.ID, dead: !h.Live}
	p.mu.Lock()
	if p.shells[s.id] != nil { // in both the inventory and the released list
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
	proc, err := p.backend.engine.Adopt(h.ID, s.receive)
	if err != nil { // the engine no longer has it
		p.mu.Lock()
		defer p.mu.Unlock()
		s.die()
		delete(p.shells, s.id)
		return
	}
	s.setProcess(proc)
}

// setProcess takes the engine's process, and stops or releases it if the executor has
// ended.
func (s *shell) setProcess(proc backends.Process) {
	s.executor.mu.Lock()
	s.proc = proc
	late, silent := s.executor.closing, s.executor.released
	s.executor.mu.Unlock()
	switch {
	case silent && !late:
		proc.Release()
	case late:
		proc.Stop(messages.Cause{By: messages.ByScope, Reason: "its session was closed"}, 0)
	}
	s.executor.settleShells()
}

// receive handles a fact about the shell.
func (s *shell) receive(fact messages.ProcessFact) {
	p := s.executor
	p.mu.Lock()
	switch f := fact.(type) {
	case messages.ProcessStarted:
		if p.former != nil && p.former != s && p.former.id < s.id {
			p.former = nil // this shell has taken over its exports
		}
	case messages.ProcessFailed:
		s.endAll(f.Seq, nil)
	case messages.MainExited:
		s.die()
	case messages.ProcessExited:
		s.die()
		s.last = max(s.last, f.Seq, f.Last)
		if f.Dir != "" && p.former == s {
			p.dir = f.Dir
		}
		if f.Last > 0 {
			s.endAll(f.Last, f.Survivors)
		}
	case messages.ProcessLost:
		s.endAll(f.Seq, f.Survivors)
	case messages.OutputClosed:
		s.closed, s.last = true, max(s.last, f.Seq)
	case messages.TreeEnded:
		s.end(f.Seq, f.Survivors)
	}
	p.mu.Unlock()
	p.settleShells()
}

// die records that the shell takes no more commands. The caller holds the executor's
// mu.
func (s *shell) die() {
	s.dead = true
	if s.executor.current == s {
		s.executor.current = nil
		s.executor.former = s
	}
}

// endAll records the last fact of a shell. The caller holds the executor's mu.
func (s *shell) endAll(seq uint64, survivors []messages.Survivor) {
	s.die()
	s.closed = true
	s.end(seq, survivors)
}

// end records that the process tree has ended. The caller holds the executor's mu.
func (s *shell) end(seq uint64, survivors []messages.Survivor) {
	s.last = max(s.last, seq)
	if s.ended {
		return
	}
	s.ended = true
	if s.executor.closing {
		s.executor.survivors = append(s.executor.survivors, survivors...)
	}
	s.executor.finish()
}

// settleShells settles shells that have ended, except the former one: its successor
// still takes over its exports.
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
		go func() { // a fact handler must not call the engine
			for _, d := range list {
				d.proc.Settle(d.seq)
			}
		}()
	}
}
