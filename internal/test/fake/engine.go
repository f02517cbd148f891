// Package fake is an engine and a backend whose processes are played: by a
// test, in real or in virtual time (testing/synctest), or by a script of their
// own. It keeps every promise of package backends and writes down where its
// caller does not: see Engine.Violations.
//
// Facts are told from goroutines that end when there is nothing more to tell,
// so that none is left when a synctest bubble ends.
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

// Options say how an engine plays. The zero value leaves every process to the
// test.
type Options struct {
	Name  string                // of the backend; "": pipe
	Can   backends.Capabilities // zero: all but Terminal, 64 in parallel, a queue of 32
	Store spill.Store           // nil: a new Store
	// Nature is what a process does about signals unless its script says more.
	Nature SignalBehaviour
	// Auto gives a process a life of its own; nil, or a nil Script, leaves it to
	// the test. text is the shell text, or the words of argv joined by spaces.
	Auto func(text string) *Script
	// Check is asked by Shell.Check; nil refuses nothing.
	Check func(backends.Command) *messages.Error
	// OpenFails is asked by Backend.Open; nil refuses nothing.
	OpenFails func(backends.ExecutorSpec) error
	// Replay is how long after its adoption a process tells what it has to tell, as one
	// behind a slow keeper.
	Replay time.Duration
	// SettleAfter is how long it may not hear of a settlement if nothing else is asked of
	// it, as one behind a socket.
	SettleAfter time.Duration
}

// waiting bounds Engine.Started: more processes than this that no test takes
// are a fault of the test.
const waiting = 16384

// firstPID is where the numbers of played processes begin.
const firstPID = 1000

// Engine is a backends.Engine of played processes.
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
	later      []func() // settlements that it has not heard of
	ever       []*Process
	violations []string
}

// New makes an engine.
func New(o Options) *Engine {
	started := make(chan *Process, waiting)
	e := &Engine{Started: started, started: started, options: o, store: o.Store, known: map[messages.UID]*Process{}}
	if e.store == nil {
		e.store = NewStore()
	}
	e.pid.Store(firstPID)
	return e
}

// Store is where the logs of the processes are.
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

// cannotStart is a shell's status for a program that is there and cannot run.
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

// Inventory implements backends.Engine; it is in the order of the ids.
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

// Close implements backends.Engine. With keep the processes go on unbound and
// Reopen makes the engine whole again; without, all of them are killed.
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

// Reopen plays the return of a daemon to the jobs it left with Close(true).
func (e *Engine) Reopen() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.closed = false
}

// Forget plays an engine that lost a job: nothing of it is alive, no fact of
// it is told, and Adopt says not_found.
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

// LoseSettled plays the death of a daemon: of what it has settled last the engine does
// not hear any more.
func (e *Engine) LoseSettled() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.later = nil
}

// HearSettled has the engine hear what was settled: as what is asked of it does.
func (e *Engine) HearSettled() {
	e.mu.Lock()
	later := e.later
	e.later = nil
	e.mu.Unlock()
	for _, settle := range later {
		settle()
	}
}

// settleSoon takes a settlement, when it comes.
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

// get gives a process the engine knows, or nil.
func (e *Engine) get(id messages.UID) *Process {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.known[id]
}

// all are the processes the engine knows, in the order of their start.
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

// Ever has every process that was ever started, in order.
func (e *Engine) Ever() []*Process {
	e.mu.Lock()
	defer e.mu.Unlock()
	return slices.Clone(e.ever)
}

// Find gives the last started process of a text or joined argv, or nil.
func (e *Engine) Find(text string) *Process {
	for _, p := range slices.Backward(e.Ever()) {
		if p.Text() == text {
			return p
		}
	}
	return nil
}

// Live has the processes of which something is alive, or about to be.
func (e *Engine) Live() []*Process {
	return slices.DeleteFunc(e.all(), func(p *Process) bool { return !p.Alive() })
}

// Unowned has the live processes whose facts nobody hears.
func (e *Engine) Unowned() []*Process {
	return slices.DeleteFunc(e.Live(), (*Process).Owned)
}

// Unsettled has the processes that are over and not yet settled.
func (e *Engine) Unsettled() []*Process {
	return slices.DeleteFunc(e.all(), (*Process).Alive)
}

// Violations are the promises of package backends that a caller broke.
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
		{s.Deadline < 0 || s.Grace < 0, "has a negative deadline or grace"},
	} {
		if rule.broken {
			e.violate("%s %s", s.ID, rule.text)
		}
	}
}
