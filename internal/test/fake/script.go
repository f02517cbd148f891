package fake

import (
	"time"

	"troupe/messages"
)

// Script is the automatic behaviour of a process. Processes may share a Script, since
// it is only read.
type Script struct {
	Begin  time.Duration   // from the call of Start to the start or the failure
	Fail   *messages.Error // the program cannot be executed; no step is played
	Shell  int             // exit status of the failure
	Nature SignalBehaviour
	Leave  Children
	Steps  []Step // one after the other, until one fails
	// Input receives standard input; nil: it is only stored.
	Input func(p *Process, data string, closed bool)
	// Signal receives signals other than KILL instead of Nature.
	Signal func(p *Process, name string)
}

// Step is one action of a process, some time after the previous one.
type Step struct {
	After time.Duration
	Play  func(*Process) bool // reports whether the action was possible
}

// Write returns a step that writes text to a stream.
func Write(after time.Duration, s messages.Stream, text string) Step {
	return Step{after, func(p *Process) bool { return p.Write(s, text) }}
}

// Exit returns a step that ends the main process.
func Exit(after time.Duration, code int) Step {
	return Step{after, func(p *Process) bool { return p.Exit(code) }}
}

// ExitSignal returns a step that ends the main process by a signal.
func ExitSignal(after time.Duration, name string) Step {
	return Step{after, func(p *Process) bool { return p.ExitSignal(name) }}
}

// EndTree returns a step that ends the children.
func EndTree(after time.Duration) Step { return Step{after, (*Process).EndTree} }

func (s *Script) play(p *Process) {
	p.SetNature(s.Nature)
	p.Leave(s.Leave)
	after(s.Begin, func() {
		if s.Fail != nil {
			p.Fail(*s.Fail, s.Shell)
			return
		}
		if p.Begin() {
			s.step(p, 0)
		}
	})
}

func (s *Script) step(p *Process, i int) {
	if i == len(s.Steps) {
		return
	}
	after(s.Steps[i].After, func() {
		if s.Steps[i].Play(p) {
			s.step(p, i+1)
		}
	})
}

// after plays at once without a delay, so that a script without delays has ended when
// Start returns.
func after(d time.Duration, play func()) {
	if d <= 0 {
		play()
		return
	}
	time.AfterFunc(d, play)
}
