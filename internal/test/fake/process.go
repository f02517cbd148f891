package fake

import (
	"slices"
	"strings"
	"sync"
	"time"

	"troupe/backends"
	"troupe/messages"
	"troupe/spill"
)

// phase is the phase of a process.
type phase uint8

const (
	starting phase = iota
	running
	exited // the main process has exited
	failed
)

// Process is one simulated job. Its actions (Begin, Write, Exit, …) report whether the
// phase allowed them; otherwise they change nothing.
type Process struct {
	ID      messages.UID
	Spec    backends.Spec
	Command backends.Command      // zero if it was started without an executor
	Place   backends.ExecutorSpec // session of its executor

	engine        *Engine
	shellInterior *shellInterior // of its live shell, or its own
	script        *Script
	telling       sync.Mutex // held during a delivery; never acquired while holding mu

	mu    sync.Mutex
	later []func() // actions to run without mu

	// Facts and their owner.
	owner     *binding
	outbox    []item
	waking    bool
	said      []messages.ProcessFact
	unsettled []numbered
	last      uint64 // number of the newest fact
	settled   uint64
	start     *messages.ProcessStarted
	watchers  []func([]messages.Survivor) // called after the end of the tree

	// State of the process.
	phase     phase
	unknown   bool // the engine forgot it
	nature    SignalBehaviour
	leftovers Children
	status    messages.ExitStatus
	told      bool // ProcessExited was emitted
	closed    bool // OutputClosed was emitted
	ended     bool // TreeEnded was emitted
	held      bool // the drain does not end
	flags     []messages.Flag
	logs      map[messages.Stream]spill.Writer
	credits   map[messages.Stream]int64
	paused    bool
	blocked   map[messages.Stream]bool
	pipe      []piece // written, not yet in a log

	escalation escalation
	idle       idleTimer

	// Requests so far.
	due     []pendingControl // controls that arrived before the start
	answers []*answer
	signals []Signal
	input   []byte
	full    bool // standard input takes nothing now
	eof     bool
	size    messages.Terminal
	meta    []byte
	notes   []string
}

func newProcess(e *Engine, s backends.Spec, c backends.Command, at backends.ExecutorSpec) *Process {
	p := &Process{
		ID: s.ID, Spec: s, Command: c, Place: at, engine: e, nature: e.options.Nature, meta: s.Meta, size: s.Stdio.Terminal,
		logs: map[messages.Stream]spill.Writer{}, credits: map[messages.Stream]int64{}, blocked: map[messages.Stream]bool{},
	}
	if s.Deadline > 0 {
		p.escalation.insure(p, s.Deadline)
	}
	return p
}

// live starts the process with its script, or hands it to the test.
func (p *Process) live() {
	if auto := p.engine.options.Auto; auto != nil {
		if script := auto(p.Text()); script != nil {
			p.mu.Lock()
			p.script = script
			p.mu.Unlock()
			script.play(p)
			return
		}
	}
	select {
	case p.engine.started <- p:
	default:
		p.engine.violate("%s: more than %d processes wait for the test", p.ID, waiting)
	}
}

// unlock releases mu, then runs the actions that need it free.
func (p *Process) unlock() {
	todo := p.later
	p.later = nil
	p.mu.Unlock()
	for _, do := range todo {
		do()
	}
}

func (p *Process) streams() []messages.Stream {
	if p.Spec.Stdio.Streams == messages.SeparateStreams && p.Spec.Stdio.Terminal == (messages.Terminal{}) {
		return []messages.Stream{messages.Stdout, messages.Stderr}
	}
	return []messages.Stream{messages.Merged}
}

func (p *Process) has(s messages.Stream) bool { return slices.Contains(p.streams(), s) }

// makeLogs creates the logs of a process that is about to start.
func (p *Process) makeLogs() error {
	for _, s := range p.streams() {
		w, err := p.engine.store.Create(string(p.ID), uint8(s), p.Spec.Log)
		if err != nil {
			return err
		}
		p.logs[s] = w
	}
	return nil
}

// finished reports whether no more facts follow.
func (p *Process) finished() bool {
	return p.unknown || p.phase == failed || p.told && p.closed && p.ended
}

// Text returns the shell text, or the words of argv joined by spaces.
func (p *Process) Text() string {
	if p.Command.Text != "" {
		return p.Command.Text
	}
	return strings.Join(p.Spec.Argv, " ")
}

// Alive reports whether the process is alive, or about to start.
func (p *Process) Alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.finished()
}

// Owned reports whether the process has an owner.
func (p *Process) Owned() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.owner != nil
}

// Said returns all facts so far, delivered or not.
func (p *Process) Said() []messages.ProcessFact {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.said)
}

// Signals returns the signals that it received, in order.
func (p *Process) Signals() []Signal {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.signals)
}

// Signalled returns the names of its signals: "TERM", "KILL".
func (p *Process) Signalled() []string {
	var names []string
	for _, s := range p.Signals() {
		names = append(names, s.Name)
	}
	return names
}

// Input returns its standard input so far, and whether that was closed.
func (p *Process) Input() (data string, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.input), p.eof
}

// Size returns the size of its terminal.
func (p *Process) Size() messages.Terminal {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size
}

// Notes returns the metadata it was given, oldest first, without that of its Spec.
func (p *Process) Notes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.notes)
}

// Settled returns the number up to which its facts are settled.
func (p *Process) Settled() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settled
}

// Deadline returns the rest of the engine's deadline; 0: none.
func (p *Process) Deadline() time.Duration {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.escalation.insured()
}

func (p *Process) inventory() backends.InventoryJob {
	p.mu.Lock()
	defer p.mu.Unlock()
	h := backends.InventoryJob{ID: p.ID, Meta: p.meta, Live: !p.finished(), Ended: p.told || p.phase == failed}
	if p.finished() {
		h.Last = p.last
	}
	return h
}

// kept reports whether leftovers of the process outlive its session.
func (p *Process) kept() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.phase == exited && p.Spec.OnExit == messages.KeepChildren
}

// whenEnded calls f with the survivors after the tree has ended, at once if it has.
func (p *Process) whenEnded(f func([]messages.Survivor)) {
	p.mu.Lock()
	defer p.unlock()
	p.watchers = append(p.watchers, f)
	if p.finished() || p.ended {
		p.tellWatchers()
	}
}
