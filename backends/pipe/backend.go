// Package pipe is the kind of job that most are: one process tree for each
// command, its input and output on pipes, or on a terminal of its own if it asks
// for one, in parallel with others of its session. It stands on any engine.
//
// A shell text is run by a shell of its own that reads no start files, so that a
// command does the same everywhere; argv is run as it is.
package pipe

import (
	"sync"

	"troupe/backends"
	"troupe/messages"
)

// Options say how commands are run. The zero value is the default.
type Options struct {
	// Shells adds shells by name, or replaces known ones: the words before the
	// text. One whose last word is not -c takes no text above 100 KiB, since that
	// travels in a file.
	Shells map[string][]string
	// Prefix stands before every text when it is run, with a space between, and is no part
	// of the command's own text; argv has none. "": nothing.
	Prefix   string
	Parallel int // jobs of one session at a time; 0: DefaultParallel
	Queue    int // jobs that may wait in a session; 0: DefaultQueue
	// Terminal is the size of the terminal that each command is on, unless it or its
	// session says another: the kind of job is pty then (package pty). The zero value:
	// only a command that asks for a terminal is on one.
	Terminal messages.Terminal
}

// MaxWord is how long a text may be as a word of argv. The kernel takes 128 KiB,
// with the name and the end of the word; above 100 KiB a text travels in a file.
const MaxWord = 100 << 10

const (
	// DefaultParallel is how many jobs of a session run at a time.
	DefaultParallel = 64
	// DefaultQueue is as many jobs as the node lets wait: a session refuses none that the
	// node would take.
	DefaultQueue = 1024
)

// Backend opens places whose commands run on an engine.
type Backend struct {
	engine  backends.Engine
	options Options
	shells  shellTable

	mu   sync.Mutex
	jobs map[messages.UID]*job // of all places: a job may go from one to another
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

// onTerminals reports whether every command is on a terminal.
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

// Open implements backends.Backend. The held jobs belong to the place until they
// end, whether or not somebody adopts them.
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
