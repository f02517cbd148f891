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

// Options configures the backend. The zero value is the default.
type Options struct {
	Queue  int           // queued commands of a session; 0: DefaultQueue
	Within time.Duration // time for a shell to start; 0: a minute
	// Prefix is put before each text that runs, with a space between. The
	// record of the job does not show it. argv gets none.
	Prefix string
	// Snapshots makes the files that shells source when they start; nil: none.
	// If a snapshot fails, the shell starts without one.
	Snapshots Snapshots
	// Terminal is the size of each shell's terminal, unless the session or the command
	// has another. The zero value puts all shells on pipes.
	Terminal messages.Terminal
	// KeepErrexit has a command that fails under set -e end alone, in bash and zsh. A shell
	// exits otherwise, and in other shells.
	KeepErrexit bool
}

// DefaultQueue bounds the commands that wait for one shell.
const DefaultQueue = 32

// Backend opens executors with live shells, on any engine that supports them.
type Backend struct {
	engine  backends.Engine
	options Options

	mu    sync.Mutex
	found map[lookupKey]string // files of shells found so far

	released map[shellOwner][]backends.InventoryJob // shells of released executors
}

// New returns a backend that runs its shells on engine.
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

// Open implements backends.Backend. It adopts the shells among the held jobs. If there
// is none, the first command starts one.
func (b *Backend) Open(at backends.ExecutorSpec, held []backends.InventoryJob, facts backends.FactHandler) (backends.Executor, error) {
	d, err := b.driver(at.Shell)
	if err != nil {
		return nil, err
	}
	p := &executor{
		backend: b, at: at, driver: d, facts: facts, dir: at.Dir,
		shells: map[messages.UID]*shell{}, commands: map[messages.UID]*command{},
	}
	p.ctx, p.cancel = context.WithCancel(context.Background())
	former := p.backend.takeReleased(p.owner())
	for _, h := range slices.Concat(held, former) {
		if _, name, ok := backends.ReadShellMeta(h.Meta); ok && name == b.Name() {
			p.adoptShell(h)
		}
	}
	return p, nil
}
