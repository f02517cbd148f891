package fake

import (
	"time"

	"troupe/messages"
)

// Script is a life that a process leads by itself. A Script may be shared by
// processes: it is only read.
type Script struct {
	Begin  time.Duration   // from the start to the begin, or the failure
	Fail   *messages.Error // the program cannot be executed; then nothing else is played
	Shell  int             // of the failure
	Nature SignalBehaviour
	Leave  Children
	Steps  []Step // one after the other, until one cannot be played
	// Input hears what the process is given on its standard input; nil: it is
	// only kept.
	Input func(p *Process, data string, closed bool)
	// Signal hears signals other than KILL in place of the Nature.
	Signal func(p *Process, name string)
}

// Step is one thing a process does, some time after the one before.
type Step struct {
	After time.Duration
	Play  func(*Process) bool // a play: it says whether it could happen
}

// Write is a step that writes text to a stream.
func Write(after time.Duration, s messages.Stream, text string) Step {
	return Step{after, func(p *Process) bool { return p.Write(s, text) }}
}

// Exit is a step that ends the main process.
func Exit(after time.Duration, code int) Step {
	return Step{after, func(p *Process) bool { return p.Exit(code) }}
}

// ExitSignal is a step that ends the main process by a signal.
func ExitSignal(after time.Duration, name string) Step {
	return Step{after, func(p *Process) bool { return p.ExitSignal(name) }}
}

// EndTree is a step that ends the children.
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

// after plays at once what has no delay, so that a script without delays has
// been played when the start returns.
func after(d time.Duration, play func()) {
	if d <= 0 {
		play()
		return
	}
	time.AfterFunc(d, play)
}
