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

// executor starts the commands of one session. The backend's lock guards its state.
type executor struct {
	backend *Backend
	at      backends.ExecutorSpec
	facts   backends.FactHandler

	jobs      map[messages.UID]*job // jobs that may have live processes
	closing   bool
	grace     time.Duration
	survivors []messages.Survivor // of the jobs that Close stopped
	released  bool                // closed or released: no fact follows
}

func (p *executor) dir(c backends.Command) string { return cmp.Or(c.Dir, p.at.Dir) }

// text returns the text for the shell, with the prefix.
func (p *executor) text(c backends.Command) string {
	return shelltext.Prefixed(p.backend.options.Prefix, c.Text)
}

func (p *executor) shell(c backends.Command) string { return cmp.Or(c.Shell, p.at.Shell) }

// Start implements backends.Executor.
func (p *executor) Start(c backends.Command, facts backends.FactHandler) backends.Process {
	b := p.backend
	b.mu.Lock()
	if p.closing || p.released {
		b.mu.Unlock()
		return backends.FailStart(facts, messages.Error{Code: messages.SessionClosedCode, Message: "the session is closed", Hint: "open it again"})
	}
	known := b.jobs[c.ID] != nil
	j := p.take(c.ID)
	j.keep = c.OnExit == messages.KeepChildren
	h := j.bind(facts)
	b.mu.Unlock()

	if known { // join it
		if proc, err := b.engine.Adopt(c.ID, h.deliver); err == nil {
			h.setProcess(proc)
			return h
		}
	}
	spec, err := p.spec(c)
	if err != nil {
		j.forget()
		return backends.FailStart(facts, *err)
	}
	h.setProcess(b.engine.Start(spec, h.deliver))
	return h
}

// spec returns the command as the engine runs it. A text above MaxWord goes into a file that
// the engine writes. A command on a terminal has only that.
func (p *executor) spec(c backends.Command) (backends.Spec, *messages.Error) {
	s := backends.Spec{
		ID: c.ID, Argv: c.Argv, Env: c.Env, Dir: p.dir(c), Umask: c.Umask, Stdio: c.Stdio, Deadline: c.Deadline, Grace: c.Grace,
		OnExit: c.OnExit, Detach: c.Detach, Log: c.Log, Meta: c.Meta, Attr: c.Attr,
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
	switch text, stub := p.text(c), textStub(words); {
	case len(text) > MaxWord:
		s.Argv, s.Script = words[:len(words)-1], text
	case stub != "" && shelltext.FindsProcesses(text):
		s.Argv, s.Env = append(words, stub), append(slices.Clip(s.Env), textVariable+"="+text)
	default:
		s.Argv = append(before(words, text), text)
	}
	return s, nil
}

// Adopt implements backends.Executor.
func (p *executor) Adopt(id messages.UID, facts backends.FactHandler) (backends.Process, error) {
	b := p.backend
	b.mu.Lock()
	j := p.take(id)
	h := j.bind(facts)
	b.mu.Unlock()
	proc, err := b.engine.Adopt(id, h.deliver)
	if err != nil {
		j.forget()
		return nil, err
	}
	h.setProcess(proc)
	return h, nil
}

// take makes a job one of this executor, unless its tree has ended. The caller holds the lock.
func (p *executor) take(id messages.UID) *job {
	j := p.backend.jobs[id]
	if j == nil {
		j = &job{id: id, backend: p.backend}
		p.backend.jobs[id] = j
	}
	if j.executor != nil {
		delete(j.executor.jobs, id)
		j.executor = nil
	}
	if !j.ended {
		j.executor = p
		p.jobs[id] = j
	}
	return j
}

// Yield implements backends.Executor.
func (p *executor) Yield(id messages.UID) {
	p.backend.mu.Lock()
	defer p.backend.mu.Unlock()
	if j := p.jobs[id]; j != nil {
		delete(p.jobs, id)
		j.executor = nil
	}
	p.finish()
}

// Release implements backends.Executor.
func (p *executor) Release() {
	p.backend.mu.Lock()
	defer p.backend.mu.Unlock()
	p.released = true
}

// Close implements backends.Executor. It stops the running jobs and all leftovers, except the
// children of exited jobs with KeepChildren.
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
			j.executor = nil
		}
	}
	end := slices.Collect(maps.Values(p.jobs))
	p.finish()
	b.mu.Unlock()
	for _, j := range end {
		j.end()
	}
}

// finish sends ShellClosed, once, when no job is left. The caller holds the lock.
func (p *executor) finish() {
	if p.closing && !p.released && len(p.jobs) == 0 {
		p.released = true
		go p.facts(messages.ShellClosed{Survivors: p.survivors})
	}
}
