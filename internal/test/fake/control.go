package fake

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"troupe/backends"
	"troupe/messages"
)

// pendingControl is a control that arrived before the start of the process.
type pendingControl struct {
	by      *binding
	control backends.Control
}

// answer is the answer to a control; fact is set once it is known.
type answer struct {
	by    *binding
	nth   uint64 // number of the control; 0: it is answered in order
	ready bool
	fact  messages.ProcessFact
	end   int64 // offset of the end of a waiting input
}

func (a *answer) is(fact messages.ProcessFact) { a.ready, a.fact = true, fact }

func (a *answer) known() (nth uint64, known bool) { return a.nth, a.ready }

func (p *Process) do(by *binding, c backends.Control) {
	p.mu.Lock()
	defer p.unlock()
	if p.finished() {
		return // no facts after the last one
	}
	if p.phase == starting {
		p.due = append(p.due, pendingControl{by, c})
		return
	}
	p.perform(by, c)
}

func (p *Process) doDue() {
	todo := p.due
	p.due = nil
	for _, d := range todo {
		p.perform(d.by, d.control)
	}
}

// perform performs one control and answers it, in order if it has no number.
func (p *Process) perform(by *binding, c backends.Control) {
	a := &answer{by: by}
	c, a.nth = backends.Number(c)
	p.answers = append(p.answers, a)
	if p.phase != running {
		a.is(refused(messages.JobFinished, "the process has exited"))
		p.answer()
		return
	}
	switch c := c.(type) {
	case backends.Input:
		p.takeInput(a, c)
	case backends.CloseInput:
		p.closeInput(a)
	case backends.CheckInput:
		a.is(p.canAwait())
	case backends.Resize:
		a.is(p.onTerminal(func() { p.size = c.Size }))
	case backends.ResetTerminal:
		a.is(p.onTerminal(func() {}))
	case backends.Signal:
		p.signal(a, c)
	case backends.Deadline:
		p.escalation.insure(p, c.After)
		a.is(done())
	case backends.Pause:
		p.paused = true
		a.is(done())
	case backends.Resume:
		p.paused = false
		a.is(done())
		p.capture()
		p.beginIdle()
	default:
		p.engine.violate("%s was asked for %T", p.ID, c)
		a.is(refused(messages.Unsupported, "the engine does not know this control"))
	}
	p.answer()
}

// answer emits the answers that are ready.
func (p *Process) answer() {
	p.answers = backends.DeliverAnswered(p.answers, (*answer).known, func(a *answer) {
		if a.by != p.owner {
			return
		}
		fact := a.fact
		if f, is := fact.(messages.ControlAnswer); is {
			fact = f.Answering(a.nth)
		}
		p.say(fact)
	})
}

// refuseAnswers refuses the controls that an exited process can no longer perform.
func (p *Process) refuseAnswers() {
	for _, a := range p.answers {
		if !a.ready {
			a.is(refused(messages.JobFinished, "the process exited before it took all of its input"))
		}
	}
	p.answer()
}

// FillInput simulates a full standard input: input waits until FillInput(false).
func (p *Process) FillInput(full bool) {
	p.mu.Lock()
	defer p.unlock()
	p.full = full
	if full {
		return
	}
	for _, a := range p.answers {
		if !a.ready {
			a.is(messages.InputWritten{Through: a.end})
		}
	}
	p.answer()
}

func (p *Process) takeInput(a *answer, in backends.Input) {
	switch {
	case p.Spec.Stdio.Stdin != messages.StdinPipe && p.Spec.Stdio.Terminal == (messages.Terminal{}):
		a.is(refused(messages.NoInput, "the job has no standard input; start it with stdin pipe"))
		return
	case p.eof:
		a.is(refused(messages.NoInput, "the standard input of the job is closed"))
		return
	case len(in.Data) > messages.MaxInput:
		a.is(refused(messages.TooLarge, fmt.Sprintf("%d bytes of input at once; give at most %d", len(in.Data), messages.MaxInput)))
		return
	}
	p.input = append(p.input, in.Data...)
	a.end = int64(len(p.input))
	if !p.full {
		a.is(messages.InputWritten{Through: a.end})
	}
	if p.script != nil && p.script.Input != nil {
		data := string(in.Data)
		p.later = append(p.later, func() { p.script.Input(p, data, false) })
	}
}

func (p *Process) closeInput(a *answer) {
	if p.Spec.Stdio.Stdin != messages.StdinPipe && p.Spec.Stdio.Terminal == (messages.Terminal{}) {
		a.is(refused(messages.NoInput, "the job has no standard input; start it with stdin pipe"))
		return
	}
	again := p.eof
	p.eof = true
	a.is(done())
	if !again && p.script != nil && p.script.Input != nil {
		p.later = append(p.later, func() { p.script.Input(p, "", true) })
	}
}

// canAwait answers CheckInput. AwaitInput simulates the result.
func (p *Process) canAwait() messages.ProcessFact {
	switch {
	case p.Spec.Stdio.Stdin != messages.StdinPipe && p.Spec.Stdio.Terminal == (messages.Terminal{}):
		return refused(messages.NoInput, "the job has no standard input; start it with stdin pipe")
	case p.eof:
		return refused(messages.NoInput, "the standard input of the job is closed")
	}
	return done()
}

func (p *Process) onTerminal(do func()) messages.ProcessFact {
	if p.Spec.Stdio.Terminal == (messages.Terminal{}) {
		return refused(messages.Unsupported, "the job has no terminal; start it on one")
	}
	do()
	return done()
}

func (p *Process) signal(a *answer, s backends.Signal) {
	number := numberOf(s.Name)
	if number == 0 {
		a.is(refused(messages.InvalidParams, fmt.Sprintf("invalid signal %q: use a name such as INT or TERM", s.Name)))
		return
	}
	p.signals = append(p.signals, Signal{Name: s.Name, At: time.Now(), Tree: s.Tree, Asked: true})
	a.is(done())
	p.answer() // before the effect of the signal
	if s.Name == "KILL" {
		if s.Tree {
			p.childrenGone()
		}
		p.exit(messages.ExitStatus{Signal: s.Name, Number: number})
		return
	}
	p.react(s.Name, number)
}

// react applies the behaviour of the process to a signal that can be caught.
func (p *Process) react(name string, number int) {
	switch {
	case p.script != nil && p.script.Signal != nil:
		p.later = append(p.later, func() { p.script.Signal(p, name) })
	case p.nature == Obedient && fatal(name):
		p.exit(messages.ExitStatus{Signal: name, Number: number})
	}
}

func fatal(name string) bool {
	switch name {
	case "CONT", "STOP", "TSTP", "WINCH", "CHLD", "URG":
		return false
	}
	return true
}

// numbers returns the known signals with their numbers on Linux.
func numbers() map[string]int {
	return map[string]int{
		"HUP": 1, "INT": 2, "QUIT": 3, "ILL": 4, "TRAP": 5, "ABRT": 6, "BUS": 7, "FPE": 8, "KILL": 9, "USR1": 10,
		"SEGV": 11, "USR2": 12, "PIPE": 13, "ALRM": 14, "TERM": 15, "CHLD": 17, "CONT": 18, "STOP": 19, "TSTP": 20,
		"URG": 23, "XCPU": 24, "WINCH": 28, "SYS": 31,
	}
}

// numberOf accepts "INT", "SIGINT" and "2"; 0 means invalid.
func numberOf(name string) int {
	if n, err := strconv.Atoi(name); err == nil && n > 0 && n < 65 {
		return n
	}
	return numbers()[strings.TrimPrefix(name, "SIG")]
}

func refused(code messages.Code, text string) messages.ProcessFact {
	return messages.ControlRefused{Err: messages.Error{Code: code, Message: text}}
}

func done() messages.ProcessFact { return messages.ControlDone{} }
