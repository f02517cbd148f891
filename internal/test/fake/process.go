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

// phase is where a process stands.
type phase uint8

const (
	starting phase = iota
	running
	exited // the main process
	failed
)

// Process is one job, played. Its plays (Begin, Write, Exit, …) report whether
// they could happen: a play that its phase does not allow changes nothing.
type Process struct {
	ID      messages.UID
	Spec    backends.Spec
	Command backends.Command      // zero if the engine was asked without a shell
	Place   backends.ExecutorSpec // of its shell

	engine        *Engine
	shellInterior *shellInterior // of its live shell, or its own
	script        *Script
	telling       sync.Mutex // held while a fact is told; never while mu is held

	mu    sync.Mutex
	later []func() // to do when mu is free

	// what it is told of, and by whom
	owner     *binding
	outbox    []item
	waking    bool
	said      []messages.ProcessFact
	unsettled []numbered
	last      uint64 // number of the newest fact
	settled   uint64
	start     *messages.ProcessStarted
	watchers  []func([]messages.Survivor) // hear of the end of the tree

	// how it stands
	phase     phase
	unknown   bool // vanished: the engine forgot it
	nature    SignalBehaviour
	leftovers Children
	status    messages.ExitStatus
	told      bool // ProcessExited was said
	closed    bool // OutputClosed was said
	ended     bool // TreeEnded was said
	held      bool // the drain does not end
	flags     []messages.Flag
	logs      map[messages.Stream]spill.Writer
	credits   map[messages.Stream]int64
	paused    bool
	blocked   map[messages.Stream]bool
	pipe      []piece // written, not yet captured

	escalation escalation

	// what it was asked
	due     []pendingControl // controls from before its begin
	answers []*answer
	signals []Signal
	input   []byte
	full    bool // its standard input takes nothing now
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

// live begins the life of a process: its own, or one that the test plays.
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

// unlock frees the state, then does what must be done without it.
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

// makeLogs makes the logs of a process that is about to begin.
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

// finished reports that nothing more will be said of the process.
func (p *Process) finished() bool {
	return p.unknown || p.phase == failed || p.told && p.closed && p.ended
}

// Text is the shell text, or the words of argv joined by spaces.
func (p *Process) Text() string {
	if p.Command.Text != "" {
		return p.Command.Text
	}
	return strings.Join(p.Spec.Argv, " ")
}

// Alive reports whether something of the process lives, or is about to.
func (p *Process) Alive() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return !p.finished()
}

// Owned reports whether somebody hears its facts.
func (p *Process) Owned() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.owner != nil
}

// Said are its facts so far, whether or not somebody heard them.
func (p *Process) Said() []messages.ProcessFact {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.said)
}

// Signals are those it was sent, in order.
func (p *Process) Signals() []Signal {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.signals)
}

// Signalled are the names of its signals: "TERM", "KILL".
func (p *Process) Signalled() []string {
	var names []string
	for _, s := range p.Signals() {
		names = append(names, s.Name)
	}
	return names
}

// Input is what it was given on its standard input, and whether that was closed.
func (p *Process) Input() (data string, closed bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	return string(p.input), p.eof
}

// Size is the size of its terminal.
func (p *Process) Size() messages.Terminal {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.size
}

// Notes are the metas it was given, oldest first, without that of its Spec.
func (p *Process) Notes() []string {
	p.mu.Lock()
	defer p.mu.Unlock()
	return slices.Clone(p.notes)
}

// Settled is the number up to which its facts were settled.
func (p *Process) Settled() uint64 {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.settled
}

// Deadline is what is left of the engine's insurance; 0: none.
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

// kept reports whether what is left of the process outlives its place.
func (p *Process) kept() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.phase == exited && p.Spec.OnExit == messages.KeepChildren
}

// whenEnded calls f with the survivors when the tree has ended, at once if it
// has.
func (p *Process) whenEnded(f func([]messages.Survivor)) {
	p.mu.Lock()
	defer p.unlock()
	p.watchers = append(p.watchers, f)
	if p.finished() || p.ended {
		p.tellWatchers()
	}
}
