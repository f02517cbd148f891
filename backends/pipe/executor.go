package pipe

import (
	"cmp"
	"maps"
	"slices"
	"time"

	"troupe/backends"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// executor is where the commands of one session run. Its state is guarded by the
// lock of the backend.
type executor struct {
	backend *Backend
	at      backends.ExecutorSpec
	facts   backends.FactHandler

	jobs      map[messages.UID]*job // those of which something may be alive
	closing   bool
	grace     time.Duration
	survivors []messages.Survivor // of what was ended by Close
	released  bool                // closed or released: nothing more is said
}

func (p *executor) dir(c backends.Command) string { return cmp.Or(c.Dir, p.at.Dir) }

// text is what the shell is given.
func (p *executor) text(c backends.Command) string {
	return shelltext.Prefixed(p.backend.options.Prefix, c.Text)
}

func (p *executor) shell(c backends.Command) string { return cmp.Or(c.Shell, p.at.Shell) }

// Start implements backends.Shell.
func (p *executor) Start(c backends.Command, facts backends.FactHandler) backends.Process {
	b := p.backend
	b.mu.Lock()
	if p.closing || p.released {
		b.mu.Unlock()
		return failedStart(facts, messages.Error{Code: messages.SessionClosedCode, Message: "the session is closed", Hint: "open it again"})
	}
	known := b.jobs[c.ID] != nil
	j := p.take(c.ID)
	j.keep = c.OnExit == messages.KeepChildren
	h := j.bind(facts)
	b.mu.Unlock()

	if known { // joined
		if proc, err := b.engine.Adopt(c.ID, h.tell); err == nil {
			h.is(proc)
			return h
		}
	}
	spec, err := p.spec(c)
	if err != nil {
		j.lost()
		return failedStart(facts, *err)
	}
	h.is(b.engine.Start(spec, h.tell))
	return h
}

// spec is the command as the engine is to run it. A text above MaxWord travels in
// a file, which the engine writes. A terminal is all that a command on one has.
func (p *executor) spec(c backends.Command) (backends.Spec, *messages.Error) {
	s := backends.Spec{
		ID: c.ID, Argv: c.Argv, Env: c.Env, Dir: p.dir(c), Umask: c.Umask, Stdio: c.Stdio, Deadline: c.Deadline, Grace: c.Grace,
		OnExit: c.OnExit, Detach: c.Detach, Log: c.Log, Meta: c.Meta,
	}
	if t := p.terminal(c); t != (messages.Terminal{}) {
		s.Stdio, s.Env = backends.Stdio{Terminal: t, Ended: s.Stdio.Ended}, withTerm(s.Env)
	}
	if len(c.Argv) > 0 {
		return s, nil
	}
	words, file, err := p.backend.shells.resolve(p.shell(c), c.Env)
	if err != nil {
		return s, err
	}
	s.Program = file
	if text := p.text(c); len(text) <= MaxWord {
		s.Argv = append(before(words, text), text)
	} else {
		s.Argv, s.Script = words[:len(words)-1], text
	}
	return s, nil
}

// Adopt implements backends.Shell.
func (p *executor) Adopt(id messages.UID, facts backends.FactHandler) (backends.Process, error) {
	b := p.backend
	b.mu.Lock()
	j := p.take(id)
	h := j.bind(facts)
	b.mu.Unlock()
	proc, err := b.engine.Adopt(id, h.tell)
	if err != nil {
		j.lost()
		return nil, err
	}
	h.is(proc)
	return h, nil
}

// take makes a job one of this place, unless its tree has ended. The lock is
// held.
func (p *executor) take(id messages.UID) *job {
	j := p.backend.jobs[id]
	if j == nil {
		j = &job{id: id, backend: p.backend}
		p.backend.jobs[id] = j
	}
	if j.place != nil {
		delete(j.place.jobs, id)
		j.place = nil
	}
	if !j.ended {
		j.place = p
		p.jobs[id] = j
	}
	return j
}

// Yield implements backends.Shell.
func (p *executor) Yield(id messages.UID) {
	p.backend.mu.Lock()
	defer p.backend.mu.Unlock()
	if j := p.jobs[id]; j != nil {
		delete(p.jobs, id)
		j.place = nil
	}
	p.finish()
}

// Release implements backends.Shell.
func (p *executor) Release() {
	p.backend.mu.Lock()
	defer p.backend.mu.Unlock()
	p.released = true
}

// Close implements backends.Shell: it ends what still runs and what the commands
// left behind, but for the children of those that have exited and keep them.
func (p *executor) Close(grace time.Duration) {
	b := p.backend
	b.mu.Lock()
	if p.closing || p.released {
		b.mu.Unlock()
		return
	}
	p.closing, p.grace = true, max(grace, 0)
	for id, j := range p.jobs {
		if j.keep && j.exited {
			delete(p.jobs, id)
			j.place = nil
		}
	}
	end := slices.Collect(maps.Values(p.jobs))
	p.finish()
	b.mu.Unlock()
	for _, j := range end {
		j.end()
	}
}

// finish says ShellClosed, once, when nothing is left to wait for. The lock is
// held.
func (p *executor) finish() {
	if p.closing && !p.released && len(p.jobs) == 0 {
		p.released = true
		go p.facts(messages.ShellClosed{Survivors: p.survivors})
	}
}
