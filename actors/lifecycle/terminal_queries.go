package lifecycle

import (
	"time"

	"troupe/messages"
)

// Terminal decides who answers what programs ask the terminal of a job, so that each
// question has one answer: a client whose own terminal shows the job, or, where there
// is none, troupe (docs/decisions/024). Its one number is Answered: every question
// before that byte has had its answer, or will never have one.
type Terminal struct {
	Answered int64
	Holder   string // the client that answers; "": troupe

	size    int64 // of the output, as far as it is known
	gen     int   // of the look that counts
	open    bool  // there is an output
	looking bool
	resting bool
}

// Events of a terminal beside TakeTerminal, LeaveTerminal and OutputGrew.
type (
	// Opened says that there is an output.
	Opened struct{}
	// QueriesScanned is what came of a Look: Data answers all that was asked up to Through, of
	// Bytes that there were.
	QueriesScanned struct {
		Gen            int
		Data           []byte
		Through, Bytes int64
	}
	// ScanDue says that a Rest is over.
	ScanDue struct{}
)

// TerminalEffect is what the actor of a terminal must do.
//
//sumtype:decl
type TerminalEffect interface{ terminalEffect() }

// The effects of a terminal.
type (
	// Listen asks for OutputGrew when the output is larger than From.
	Listen struct{ From int64 }
	// ScanQueries asks for Looked at what was asked behind the byte After.
	ScanQueries struct {
		Gen   int
		After int64
	}
	// Answer keeps in a safe place that all up to Through is answered, and then gives
	// Data to the job: one that dies in between leaves a question without an answer,
	// and none with two. Data may be empty.
	Answer struct {
		Data    []byte
		Through int64
	}
	// DelayScan asks for Rested after a moment: a job that writes without end is not looked at
	// without end.
	DelayScan struct{ After time.Duration }
)

// How long a terminal is not looked at behind a look. It is what an answer may be late by,
// where a job goes on writing before it has it.
const (
	answerRest = 20 * time.Millisecond
	// floodRest is that of a job that has written more than flood since it was looked at
	// last: it does not wait for answers. To look at all it writes, with a screen for what
	// happens to be a question in it, took a third of a processor from it; a look sees no
	// more than flood of it, either (screen.maxAsking).
	floodRest = 250 * time.Millisecond
	flood     = 64 << 10
)

// rest is how long it is behind a look at n new bytes.
func rest(n int64) DelayScan {
	if n > flood {
		return DelayScan{After: floodRest}
	}
	return DelayScan{After: answerRest}
}

func (Listen) terminalEffect()      {}
func (ScanQueries) terminalEffect() {}
func (Answer) terminalEffect()      {}
func (DelayScan) terminalEffect()   {}

// Step answers an event with the next state and what to do about it.
func (t Terminal) Step(event any) (Terminal, []TerminalEffect) {
	switch e := event.(type) {
	case Opened:
		t.open = true
		return t.next()
	case messages.OutputGrew:
		t.size = max(t.size, e.Size)
		return t.next()
	case QueriesScanned:
		return t.looked(e)
	case ScanDue:
		t.resting = false
		return t.next()
	case messages.ClaimTerminal:
		t.Holder, t.looking = e.By, false
		t.gen++ // what is looked at now, its terminal answers
	case messages.ReleaseTerminal:
		return t.left(e)
	}
	return t, nil
}

// next looks at what there is, or waits for more.
func (t Terminal) next() (Terminal, []TerminalEffect) {
	switch {
	case !t.open || t.Holder != "" || t.looking || t.resting:
		return t, nil
	case t.size > t.Answered:
		t.looking = true
		t.gen++
		return t, []TerminalEffect{ScanQueries{Gen: t.gen, After: t.Answered}}
	}
	return t, []TerminalEffect{Listen{From: t.Answered}}
}

func (t Terminal) looked(e QueriesScanned) (Terminal, []TerminalEffect) {
	if e.Gen != t.gen || !t.looking {
		return t, nil
	}
	t.looking, t.resting = false, true
	t.size = max(t.size, e.Bytes)
	then := rest(t.size - t.Answered)
	if e.Through <= t.Answered { // it cannot be looked at: what is there is passed over
		t.Answered = t.size
		return t, []TerminalEffect{then}
	}
	t.Answered = e.Through
	if len(e.Data) == 0 {
		return t, []TerminalEffect{then}
	}
	return t, []TerminalEffect{Answer{Data: e.Data, Through: t.Answered}, then}
}

// left goes on behind what the client's terminal was shown.
func (t Terminal) left(e messages.ReleaseTerminal) (Terminal, []TerminalEffect) {
	if t.Holder == "" || e.By != t.Holder {
		return t, nil
	}
	t.Holder, t.Answered = "", max(t.Answered, e.Through)
	if !t.open {
		return t, nil
	}
	t, todo := t.next()
	return t, append([]TerminalEffect{Answer{Through: t.Answered}}, todo...)
}
