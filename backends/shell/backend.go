// Package shell is the kind of job that lives in a shell of its session: a bash, a zsh,
// a dash or a fish that runs one command after the other and keeps its directory, its
// variables and its functions from one to the next.
//
// The engine speaks with the shell (backends.Live) and makes each command a job. This
// package chooses the shell, writes the driver that answers the engine, puts what a
// command wants before its text, and makes a new shell for one that died: in the
// directory where that was, with the variables that it exported.
package shell

import (
	"context"
	"slices"
	"sync"
	"time"

	"troupe/backends"
	"troupe/messages"
)

// The names of the backend: on pipes, and on terminals.
const (
	Name           = "shell"
	NameOnTerminal = "shell-pty"
)

// Options say how shells are run. The zero value is the default.
type Options struct {
	Queue  int           // commands that may wait in a session; 0: DefaultQueue
	Within time.Duration // for a shell to come up; 0: a minute
	// Prefix stands before every text when it is run, with a space between, and is no part
	// of the command's own text; argv has none. "": nothing.
	Prefix string
	// Snapshots are what shells take up when they begin; nil: nothing. A shell of
	// which none can be made takes up nothing.
	Snapshots Snapshots
	// Terminal is the size of the terminal that each shell is on, unless its session or a
	// command says another: the kind of job is shell-pty then. The zero value: all are on
	// pipes.
	Terminal messages.Terminal
}

// DefaultQueue is how many commands may wait for one shell, which runs them one by one.
const DefaultQueue = 32

// Backend opens places that are live shells, on any engine that has them.
type Backend struct {
	engine  backends.Engine
	options Options

	mu    sync.Mutex
	found map[lookupKey]string // programs that were looked up

	released map[shellOwner][]backends.InventoryJob // of places that were let go of
}

// New makes the backend on an engine.
func New(engine backends.Engine, o Options) *Backend {
	if o.Queue == 0 {
		o.Queue = DefaultQueue
	}
	return &Backend{engine: engine, options: o, found: map[lookupKey]string{}, released: map[shellOwner][]backends.InventoryJob{}}
}

// Name implements backends.Backend.
func (b *Backend) Name() string {
	if b.onTerminals() {
		return NameOnTerminal
	}
	return Name
}

func (b *Backend) onTerminals() bool { return b.options.Terminal != messages.Terminal{} }

// Can implements backends.Backend.
func (b *Backend) Can() backends.Capabilities {
	return backends.Capabilities{
		Parallel: 1, Queue: b.options.Queue, Keeps: true,
		Input: true, Terminal: b.onTerminals(), Separate: !b.onTerminals(), Signals: true, Attribute: !b.onTerminals(), Outlive: b.engine.CanKeep(),
	}
}

// Open implements backends.Backend. A shell is started for the first command; one that
// is held is gone on with.
func (b *Backend) Open(at backends.ExecutorSpec, held []backends.InventoryJob, facts backends.FactHandler) (backends.Executor, error) {
	d, err := b.driver(at.Shell)
	if err != nil {
		return nil, err
	}
	p := &executor{
		backend: b, at: at, driver: d, facts: facts, dir: at.Dir,
		shells: map[messages.UID]*shell{}, commands: map[messages.UID]*command{},
	}
	p.while, p.end = context.WithCancel(context.Background())
	former := p.backend.takeBack(p.seat())
	for _, h := range slices.Concat(held, former) {
		if _, name, ok := backends.ReadShellMeta(h.Meta); ok && name == b.Name() {
			p.hold(h)
		}
	}
	return p, nil
}
