package pipe

import (
	"sync"

	"troupe/backends"
	"troupe/messages"
)

// Options configure the commands of a backend. The zero value is the default.
type Options struct {
	// Shells adds or replaces shells by name: the program and the arguments before the text.
	// A shell whose last argument is not -c takes no text above 100 KiB, which would travel in
	// a file.
	Shells map[string][]string
	// Prefix precedes every text, with a space between, and is no part of the recorded command
	// . It does not apply to argv. "": none.
	Prefix   string
	Parallel int // jobs of one session at a time; 0: DefaultParallel
	Queue    int // jobs that may be queued in a session; 0: DefaultQueue
	// Terminal is the size of every command's terminal, unless the command or the session has
	// another; the backend is then pty. Zero: only a command that asks for a terminal has one.
	Terminal messages.Terminal
}

// MaxWord bounds a text in argv, in bytes. The kernel takes 128 KiB with the argument's
// terminator; a longer text than MaxWord travels in a file.
const MaxWord = 100 << 10

const (
	// DefaultParallel bounds the running jobs of a session.
	DefaultParallel = 64
	// DefaultQueue equals the queue of a node: a session refuses no job that the node would take.
	DefaultQueue = 1024
)

// Backend opens executors whose commands run on an engine.
type Backend struct {
	engine  backends.Engine
	options Options
	shells  shellTable

	mu   sync.Mutex
	jobs map[messages.UID]*job // of all executors: a job may move from one to another
}

// New makes the backend on an engine.
func New(engine backends.Engine, o Options) *Backend {
	if o.Parallel == 0 {
		o.Parallel = DefaultParallel
	}
	if o.Queue == 0 {
		o.Queue = DefaultQueue
	}
	return &Backend{engine: engine, options: o, shells: newShells(o.Shells), jobs: map[messages.UID]*job{}}
}

// onTerminals reports whether every command has a terminal.
func (b *Backend) onTerminals() bool { return b.options.Terminal != messages.Terminal{} }

// Name implements backends.Backend.
func (b *Backend) Name() string {
	if b.onTerminals() {
		return "pty"
	}
	return "pipe"
}

// Can implements backends.Backend.
func (b *Backend) Can() backends.Capabilities {
	return backends.Capabilities{
		Parallel: b.options.Parallel, Queue: b.options.Queue,
		Input: true, Terminal: true, Separate: !b.onTerminals(), Signals: true, Attribute: true, Outlive: b.engine.CanKeep(),
	}
}

// Open implements backends.Backend. The held jobs belong to the executor until they end,
// adopted or not.
func (b *Backend) Open(at backends.ExecutorSpec, held []backends.InventoryJob, facts backends.FactHandler) (backends.Executor, error) {
	p := &executor{backend: b, at: at, facts: facts, jobs: map[messages.UID]*job{}}
	b.mu.Lock()
	defer b.mu.Unlock()
	for _, h := range held {
		if h.Live {
			j := p.take(h.ID)
			j.keep, j.exited = j.keep || h.Keep, j.exited || h.Exited
		}
	}
	return p, nil
}
