package engine

import (
	"cmp"
	"strconv"
	"strings"
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// controls holds the controls of a job that are not answered. They take effect one by
// one, in a goroutine of the engine. Input is answered when the kernel has taken it;
// unnumbered answers after it wait. job.mu guards the fields.
type controls struct {
	todo    []control
	answers []*answer
	now     *answer // of the control that is being performed
	busy    bool
}

// control is a queued control.
type control struct {
	what backends.Control
	to   *answer
}

// answer is the reply to a control; fact is nil until it is known.
type answer struct {
	by   *backends.Binding
	nth  uint64 // number of the control; 0: it is answered in order
	fact messages.ProcessFact
	acts bool // the control takes effect and cannot be refused: the job may react and exit
}

// forget drops the answers that a former owner waits for.
func (c *controls) forget() {
	if c == nil {
		return
	}
	for _, a := range c.answers {
		a.by = nil
	}
}

// refuseRest answers the controls that an exited process cannot perform.
func (c *controls) refuseRest() {
	if c == nil {
		return
	}
	for _, a := range c.answers {
		switch {
		case a.fact != nil:
		case a.acts:
			a.fact = messages.ControlDone{}
		default:
			a.fact = refusal(messages.JobFinished, "the process exited before it took what it was given")
		}
	}
}

// acts records that the current control takes effect now.
func (j *job) acts() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if c := j.controls; c != nil && c.now != nil {
		c.now.acts = true
	}
}

// do queues a control.
func (j *job) do(by *backends.Binding, c backends.Control) {
	j.mu.Lock()
	defer j.mu.Unlock()
	if j.phase == phaseDone {
		return // no fact follows the last one
	}
	if j.controls == nil {
		j.controls = &controls{}
	}
	a := &answer{by: by}
	c, a.nth = backends.Number(c)
	j.controls.answers = append(j.controls.answers, a)
	switch in := c.(type) {
	case backends.Input:
		if a.fact = j.input.admit(len(in.Data)); a.fact != nil {
			c = nil
		}
	case backends.CloseInput:
		if j.input != nil {
			j.input.eofQueued = !j.input.typed
		}
	}
	j.controls.todo = append(j.controls.todo, control{c, a})
	if j.phase >= phaseRunning && !j.controls.busy {
		j.controls.busy = true
		j.engine.run(j, j.perform)
	}
}

// work starts the controls that came before the process.
func (j *job) work() {
	j.mu.Lock()
	defer j.mu.Unlock()
	if c := j.controls; c != nil && len(c.todo) > 0 && !c.busy {
		c.busy = true
		j.engine.run(j, j.perform)
	}
}

// perform performs the queued controls in order.
func (j *job) perform() {
	for {
		j.mu.Lock()
		if len(j.controls.todo) == 0 {
			j.controls.busy = false
			j.mu.Unlock()
			return
		}
		c := j.controls.todo[0]
		j.controls.todo, j.controls.now = j.controls.todo[1:], c.to
		exited := j.phase >= phaseExited
		j.mu.Unlock()
		switch {
		case c.what == nil: // refused already
			j.answer(c.to, nil)
		case exited:
			j.answer(c.to, refusal(messages.JobFinished, "the process has exited"))
		default:
			j.performOne(c)
		}
	}
}

func (j *job) performOne(c control) {
	switch what := c.what.(type) {
	case backends.Input:
		j.feed(&piece{data: what.Data, raw: what.Raw, size: len(what.Data), to: c.to})
	case backends.CloseInput:
		j.closeInput(c.to)
	case backends.CheckInput:
		j.awaitInput(what.For, c.to)
	case backends.Signal:
		j.answer(c.to, j.signal(what))
	case backends.Deadline:
		j.acts()
		j.setDeadline(what.After)
		j.answer(c.to, messages.ControlDone{})
	case backends.Pause:
		j.paused.Store(true)
		j.answer(c.to, messages.ControlDone{})
	case backends.Resume:
		j.acts()
		j.idle.note() // before the pause ends, which the timer sees
		j.paused.Store(false)
		j.idle.proceed()
		j.mu.Lock()
		for _, s := range j.streams {
			s.resume()
		}
		j.mu.Unlock()
		j.answer(c.to, messages.ControlDone{})
	case backends.Resize:
		j.answer(c.to, j.resize(what.Size))
	case backends.ResetTerminal:
		j.answer(c.to, j.resetTerminal())
	default:
		j.answer(c.to, refusal(messages.Unsupported, "this engine does not know the control"))
	}
}

// held reports whether capture is paused.
func (j *job) held() bool { return j.paused.Load() }

// answer sets the reply of a control, and sends the replies that are due.
func (j *job) answer(a *answer, fact messages.ProcessFact) {
	j.update(func() {
		if a.fact == nil {
			a.fact = fact
		}
		j.sayAnswers()
	})
}

// sayAnswers sends the replies that are due. The caller holds mu.
func (j *job) sayAnswers() {
	if j.controls == nil {
		return
	}
	owner := j.owner()
	j.controls.answers = backends.DeliverAnswered(j.controls.answers, (*answer).known, func(a *answer) {
		if a.by == nil || a.by != owner || j.phase == phaseDone {
			return
		}
		fact := a.fact
		if f, is := fact.(messages.ControlAnswer); is {
			fact = f.Answering(a.nth)
		}
		j.enqueue(fact)
	})
}

func (a *answer) known() (nth uint64, known bool) { return a.nth, a.fact != nil }

// signal sends one signal to the main process or the whole tree. KILL for the tree also
// reaches processes that fork or are in execve meanwhile (docs/decisions/034).
func (j *job) signal(s backends.Signal) messages.ProcessFact {
	sig := syscall.Signal(messages.SignalNumber(s.Name))
	if sig == 0 {
		return messages.ControlRefused{Err: *messages.Invalid("signal", "invalid signal "+strconv.Quote(s.Name)+": use a name such as INT or TERM")}
	}
	if j.command != nil {
		return j.command.signal(sig)
	}
	j.acts()
	if s.Tree {
		if sig == syscall.SIGKILL {
			j.tree.kill()
		}
		j.tree.signal(sig)
		return messages.ControlDone{}
	}
	if !j.proc.signal(sig, false) {
		return refusal(messages.JobFinished, "the process has exited")
	}
	return messages.ControlDone{}
}

// stopSignal returns the signal that begins a stop of the job.
func (j *job) stopSignal() syscall.Signal {
	return syscall.Signal(cmp.Or(j.postFork.stop, uint8(unix.SIGTERM)))
}

// signalName returns the name of a signal without SIG, such as "KILL".
func signalName(s syscall.Signal) string {
	if n := unix.SignalName(s); n != "" {
		return strings.TrimPrefix(n, "SIG")
	}
	return strconv.Itoa(int(s))
}

func refusal(code messages.Code, text string) messages.ProcessFact {
	return messages.ControlRefused{Err: messages.Error{Code: code, Message: text}}
}
