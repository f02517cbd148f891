package fake

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// Options configure an engine. The zero value leaves every process to the test.
type Options struct {
	Name  string                // name of the backend; "": pipe
	Can   backends.Capabilities // zero: all but Terminal, 64 in parallel, a queue of 32
	Store spill.Store           // nil: a new Store
	// Nature is the reaction of a process to signals without a script for them.
	Nature SignalBehaviour
	// Auto returns the script of a process; nil leaves the process to the test. text is
	// the shell text, or the words of argv joined by spaces.
	Auto func(text string) *Script
	// Check implements Executor.Check; nil accepts every command.
	Check func(backends.Command) *messages.Error
	// OpenFails returns an error for Backend.Open; nil means that it succeeds.
	OpenFails func(backends.ExecutorSpec) error
	// Replay delays the facts after an adoption, as a slow keeper does.
	Replay time.Duration
	// SettleAfter delays settlements until this time or the next call, as a socket
	// does.
	SettleAfter time.Duration
}

// waiting bounds Engine.Started. More processes mean that the test does not take them.
const waiting = 16384

// firstPID is the pid of the first process.
const firstPID = 1000

// Engine is a backends.Engine of simulated processes.
type Engine struct {
	// Started has every process that is left to the test, in the order of start.
	Started <-chan *Process

	started chan *Process
	options Options
	store   spill.Store
	seq     atomic.Uint64
	pid     atomic.Int64
	shells  atomic.Int64

	mu         sync.Mutex
	closed     bool
	known      map[messages.UID]*Process
	later      []func() // settlements that are delayed
	ever       []*Process
	violations []string
}

// New returns an engine.
func New(o Options) *Engine {
	started := make(chan *Process, waiting)
	e := &Engine{Started: started, started: started, options: o, store: o.Store, known: map[messages.UID]*Process{}}
	if e.store == nil {
		e.store = NewStore()
	}
	e.pid.Store(firstPID)
	return e
}

// Store returns the store of the processes' logs.
func (e *Engine) Store() spill.Store { return e.store }

// Start implements backends.Engine.
func (e *Engine) Start(s backends.Spec, facts backends.FactHandler) backends.Process {
	return e.start(s, backends.Command{}, backends.ExecutorSpec{}, facts)
}

func (e *Engine) start(s backends.Spec, c backends.Command, at backends.ExecutorSpec, facts backends.FactHandler) backends.Process {
	e.HearSettled()
	e.checkSpec(s, facts)
	e.mu.Lock()
	if p, ok := e.known[s.ID]; ok {
		e.mu.Unlock()
		if !slices.Equal(p.Spec.Argv, s.Argv) || p.Command.Text != c.Text {
			e.violate("%s was started again as another program", s.ID)
		}
		return p.bind(facts)
	}
	if slices.ContainsFunc(e.ever, func(p *Process) bool { return p.ID == s.ID }) {
		e.violations = append(e.violations, fmt.Sprintf("%s was started again after it was over", s.ID))
	}
	p := newProcess(e, s, c, at)
	closed := e.closed
	if !closed {
		e.known[s.ID] = p
		e.ever = append(e.ever, p)
	}
	e.mu.Unlock()
	b := p.bind(facts)
	if in := e.get(s.In); in != nil && in.shellInterior != nil {
		p.enters(in)
	}
	if closed {
		p.Fail(messages.Error{Code: messages.ShuttingDown, Message: "the engine is closed: open it again"}, cannotStart)
		return b
	}
	p.live()
	return b
}

// cannotStart is a shell's exit status for a program that cannot run.
const cannotStart = 126

// Adopt implements backends.Engine.
func (e *Engine) Adopt(id messages.UID, facts backends.FactHandler) (backends.Process, error) {
	p := e.get(id)
	if p == nil {
		return nil, &messages.Error{
			Code: messages.NotFound, Reason: "job",
			Message: fmt.Sprintf("the engine does not know the job %s, and nothing of it is left", id),
		}
	}
	return p.bind(facts), nil
}

// Inventory implements backends.Engine. It is sorted by id.
func (e *Engine) Inventory(context.Context) ([]backends.InventoryJob, error) {
	var held []backends.InventoryJob
	for _, p := range e.all() {
		held = append(held, p.inventory())
	}
	slices.SortFunc(held, func(a, b backends.InventoryJob) int { return cmp.Compare(a.ID, b.ID) })
	return held, nil
}

// CanKeep implements backends.Engine.
func (e *Engine) CanKeep() bool { return true }

// Close implements backends.Engine. With keep, the processes continue without an owner
// until Reopen; otherwise they are killed.
func (e *Engine) Close(keep bool) []messages.Survivor {
	e.mu.Lock()
	e.closed = true
	e.mu.Unlock()
	var left []messages.Survivor
	for _, p := range e.all() {
		if keep {
			p.unbind(nil)
			continue
		}
		left = append(left, p.end()...)
	}
	return left
}

// Reopen simulates a daemon that returns to the jobs it left with Close(true).
func (e *Engine) Reopen() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = false
}

// Forget simulates an engine that lost a job: its processes are dead, no fact follows,
// and Adopt returns not_found.
func (e *Engine) Forget(id messages.UID) {
	e.mu.Lock()
	p := e.known[id]
	delete(e.known, id)
	e.mu.Unlock()
	if p != nil {
		p.unbind(nil)
		p.vanish()
	}
}

// LoseSettled simulates the death of a daemon: delayed settlements are lost.
func (e *Engine) LoseSettled() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.later = nil
}

// HearSettled applies the delayed settlements, as every other call does.
func (e *Engine) HearSettled() {
	e.mu.Lock()
	later := e.later
	e.later = nil
	e.mu.Unlock()
	for _, settle := range later {
		settle()
	}
}

// settleSoon applies a settlement now, or after SettleAfter.
func (e *Engine) settleSoon(p *Process, seq uint64) {
	if e.options.SettleAfter == 0 {
		p.settle(seq)
		return
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	e.later = append(e.later, func() { p.settle(seq) })
	if len(e.later) == 1 {
		time.AfterFunc(e.options.SettleAfter, e.HearSettled)
	}
}

// drop forgets a job that is over and settled.
func (e *Engine) drop(id messages.UID) {
	e.mu.Lock()
	defer e.mu.Unlock()
	delete(e.known, id)
}

// get returns a process that the engine knows, or nil.
func (e *Engine) get(id messages.UID) *Process {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.known[id]
}

// all returns the processes that the engine knows, in the order of start.
func (e *Engine) all() []*Process {
	e.mu.Lock()
	defer e.mu.Unlock()
	var all []*Process
	for _, p := range e.ever {
		if e.known[p.ID] == p {
			all = append(all, p)
		}
	}
	return all
}

// Ever returns every process ever started, in order.
func (e *Engine) Ever() []*Process {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.ever)
}

// Find returns the last started process with this text or joined argv, or nil.
func (e *Engine) Find(text string) *Process {
	for _, p := range slices.Backward(e.Ever()) {
		if p.Text() == text {
			return p
		}
	}
	return nil
}

// Live returns the processes that are alive, or about to start.
func (e *Engine) Live() []*Process {
	return slices.DeleteFunc(e.all(), func(p *Process) bool { return !p.Alive() })
}

// Unowned returns the live processes without an owner.
func (e *Engine) Unowned() []*Process {
	return slices.DeleteFunc(e.Live(), (*Process).Owned)
}

// Unsettled returns the processes that are over and not yet settled.
func (e *Engine) Unsettled() []*Process {
	return slices.DeleteFunc(e.all(), (*Process).Alive)
}

// Violations returns the rules of package backends that callers broke.
func (e *Engine) Violations() []string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.violations)
}

func (e *Engine) violate(format string, args ...any) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.violations = append(e.violations, fmt.Sprintf(format, args...))
}

func (e *Engine) checkSpec(s backends.Spec, facts backends.FactHandler) {
	for _, rule := range []struct {
		broken bool
		text   string
	}{
		{s.ID == "", "was started without an id"},
		{len(s.Argv) == 0, "was started without a program"},
		{facts == nil, "was started without facts"},
		{s.Dir != "" && s.Dir[0] != '/', "was started in a relative directory"},
		{len(s.Meta) > backends.MaxMeta, "has more meta than an engine keeps"},
		{s.Deadline < 0 || s.Grace < 0 || s.Attr.IdleTimeout < 0, "has a negative deadline, grace or idle timeout"},
	} {
		if rule.broken {
			e.violate("%s %s", s.ID, rule.text)
		}
	}
}
