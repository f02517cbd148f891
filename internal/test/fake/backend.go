package fake

import (
	"cmp"
	"maps"
	"slices"
	"sync"
	"time"

	"troupe/backends"
	"troupe/messages"
)

// Backend opens sessions whose commands are played by the engine.
type Backend struct {
	engine *Engine
	name   string // "": from the engine's options
	can    backends.Capabilities
	owners *shellOwners // of live shells; nil for other kinds
}

// Backend returns the engine as a kind of job.
func (e *Engine) Backend() *Backend { return &Backend{engine: e} }

// Name implements backends.Backend.
func (b *Backend) Name() string {
	if b.name != "" {
		return b.name
	}
	if b.engine.options.Name == "" {
		return "pipe"
	}
	return b.engine.options.Name
}

// Can implements backends.Backend.
func (b *Backend) Can() backends.Capabilities {
	if b.can != (backends.Capabilities{}) {
		return b.can
	}
	if b.engine.options.Can != (backends.Capabilities{}) {
		return b.engine.options.Can
	}
	return backends.Capabilities{Parallel: 64, Queue: 32, Input: true, Separate: true, Signals: true, Attribute: true, Outlive: true}
}

// Open implements backends.Backend.
func (b *Backend) Open(at backends.ExecutorSpec, held []backends.InventoryJob, facts backends.FactHandler) (backends.Executor, error) {
	if refuse := b.engine.options.OpenFails; refuse != nil {
		if err := refuse(at); err != nil {
			return nil, err
		}
	}
	s := &shell{backend: b, engine: b.engine, place: at, facts: facts, jobs: map[messages.UID]*Process{}}
	if b.owners != nil {
		s.find(held)
	}
	for _, h := range held {
		s.take(h.ID)
	}
	return s, nil
}

// shell is the executor of a session.
type shell struct {
	backend *Backend
	engine  *Engine

	entering sync.Mutex
	live     *live // its live shell; nil before the first command

	place backends.ExecutorSpec
	facts backends.FactHandler

	mu      sync.Mutex
	jobs    map[messages.UID]*Process
	left    []messages.Survivor
	closing bool
	done    bool // closed or released: no more facts
}

func (s *shell) Check(c backends.Command) *messages.Error {
	if s.engine.options.Check == nil {
		return nil
	}
	return s.engine.options.Check(c)
}

// Runnable returns false if Options.Check is set, which decides in Check.
func (s *shell) Runnable(backends.Command) bool { return s.engine.options.Check == nil }

func (s *shell) Start(c backends.Command, facts backends.FactHandler) backends.Process {
	s.mu.Lock()
	closed := s.closing || s.done
	s.mu.Unlock()
	if closed {
		s.engine.violate("%s was started in a place that is closed", c.ID)
	}
	argv := c.Argv
	if len(argv) == 0 {
		argv = []string{"sh", "-c", c.Text}
	}
	in := messages.UID("")
	if s.backend.owners != nil {
		in = s.enter().ID
	}
	p := s.engine.start(backends.Spec{
		In: in, ID: c.ID, Argv: argv, Env: c.Env, Dir: c.Dir, Umask: c.Umask, Stdio: c.Stdio, Deadline: c.Deadline, Grace: c.Grace,
		OnExit: c.OnExit, Detach: c.Detach, Log: c.Log, Meta: c.Meta, Attr: c.Attr,
	}, c, s.place, facts)
	s.take(c.ID)
	return p
}

func (s *shell) Adopt(id messages.UID, facts backends.FactHandler) (backends.Process, error) {
	p, err := s.engine.Adopt(id, facts)
	if err == nil {
		s.take(id)
	}
	return p, err
}

// take adds a job to this executor until its tree has ended.
func (s *shell) take(id messages.UID) {
	p := s.engine.get(id)
	if p == nil {
		return
	}
	s.mu.Lock()
	_, has := s.jobs[id]
	s.jobs[id] = p
	s.mu.Unlock()
	if !has {
		p.whenEnded(func(left []messages.Survivor) { s.ended(id, left) })
	}
}

func (s *shell) Yield(id messages.UID) { s.ended(id, nil) }

func (s *shell) Release() {
	s.mu.Lock()
	s.done = true
	s.mu.Unlock()
	s.entering.Lock()
	defer s.entering.Unlock()
	if s.live != nil && s.live.held != nil {
		s.live.held.Release()
	}
}

// Close stops the jobs, except those that have exited and were started with
// KeepChildren.
func (s *shell) Close(grace time.Duration) {
	s.mu.Lock()
	if s.closing || s.done {
		s.mu.Unlock()
		return
	}
	s.closing = true
	jobs := slices.Collect(maps.Values(s.jobs))
	s.mu.Unlock()
	slices.SortFunc(jobs, func(a, b *Process) int { return cmp.Compare(a.ID, b.ID) })
	for _, p := range jobs {
		if p.kept() {
			s.ended(p.ID, nil)
			continue
		}
		p.stop(messages.Cause{By: messages.ByScope, Reason: "its session was closed"}, grace)
	}
	s.finish()
}

// ended removes a job. A closing executor collects the survivors.
func (s *shell) ended(id messages.UID, left []messages.Survivor) {
	s.mu.Lock()
	if _, has := s.jobs[id]; has && s.closing {
		s.left = append(s.left, left...)
	}
	delete(s.jobs, id)
	s.mu.Unlock()
	s.finish()
}

// finish emits ShellClosed once, after the last job has ended.
func (s *shell) finish() {
	s.mu.Lock()
	defer s.mu.Unlock()
	if !s.closing || s.done || len(s.jobs) > 0 {
		return
	}
	s.done = true
	if s.backend.owners != nil {
		s.forget()
	}
	go s.facts(messages.ShellClosed{Survivors: s.left})
}
