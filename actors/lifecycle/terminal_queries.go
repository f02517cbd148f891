package lifecycle

import (
	"time"

	"troupe/messages"
)

// Terminal decides whether troupe answers the terminal queries of a job. Each query gets one
// reply: from the client whose terminal shows the job, else from troupe
// (docs/decisions/024). Queries before the byte Answered are answered or never will be.
type Terminal struct {
	Answered int64
	Holder   string // the client that answers; "": troupe

	size     int64 // known bytes of the output
	gen      int   // of the latest scan
	open     bool  // there is an output
	scanning bool
	delayed  bool // a DelayScan runs
}

// Events of a terminal besides ClaimTerminal, ReleaseTerminal and OutputGrew.
type (
	// Opened says that there is an output.
	Opened struct{}
	// QueriesScanned is the result of a scan: Data answers all queries up to Through. The
	// output had Bytes bytes.
	QueriesScanned struct {
		Gen            int
		Data           []byte
		Through, Bytes int64
	}
	// ScanDue says that a DelayScan has elapsed.
	ScanDue struct{}
)

// TerminalEffect is what the actor of a terminal must do.
//
//sumtype:decl
type TerminalEffect interface{ terminalEffect() }

// The effects of a terminal.
type (
	// Listen requests one OutputGrew when the output is larger than From.
	Listen struct{ From int64 }
	// ScanQueries requests QueriesScanned for the output from the byte After.
	ScanQueries struct {
		Gen   int
		After int64
	}
	// Answer saves that all queries up to Through are answered and then writes Data to the
	// job. A crash in between leaves a query without a reply, never with two. Data may be
	// empty.
	Answer struct {
		Data    []byte
		Through int64
	}
	// DelayScan requests ScanDue after After. It bounds the scans of a job that writes
	// continuously.
	DelayScan struct{ After time.Duration }
)

// Delays between two scans. A reply may be late by them if the job writes on before it.
const (
	scanDelay = 20 * time.Millisecond
	// floodDelay is for a job that has written more than flood since the last scan: it does
	// not wait for replies. Frequent scans took a third of a processor from such a job. One
	// scan reads at most flood bytes (backends/screen).
	floodDelay = 250 * time.Millisecond
	flood      = 64 << 10 // bytes
)

// delayAfter returns the delay after a scan of n new bytes.
func delayAfter(n int64) DelayScan {
	if n > flood {
		return DelayScan{After: floodDelay}
	}
	return DelayScan{After: scanDelay}
}

func (Listen) terminalEffect()      {}
func (ScanQueries) terminalEffect() {}
func (Answer) terminalEffect()      {}
func (DelayScan) terminalEffect()   {}

// Step returns the next state and the effects of an event.
func (t Terminal) Step(event any) (Terminal, []TerminalEffect) {
	switch e := event.(type) {
	case Opened:
		t.open = true
		return t.next()
	case messages.OutputGrew:
		t.size = max(t.size, e.Size)
		return t.next()
	case QueriesScanned:
		return t.scanned(e)
	case ScanDue:
		t.delayed = false
		return t.next()
	case messages.ClaimTerminal:
		t.Holder, t.scanning = e.By, false
		t.gen++ // the client answers what a running scan finds
	case messages.ReleaseTerminal:
		return t.released(e)
	}
	return t, nil
}

// next scans new output, or waits for more.
func (t Terminal) next() (Terminal, []TerminalEffect) {
	switch {
	case !t.open || t.Holder != "" || t.scanning || t.delayed:
		return t, nil
	case t.size > t.Answered:
		t.scanning = true
		t.gen++
		return t, []TerminalEffect{ScanQueries{Gen: t.gen, After: t.Answered}}
	}
	return t, []TerminalEffect{Listen{From: t.Answered}}
}

func (t Terminal) scanned(e QueriesScanned) (Terminal, []TerminalEffect) {
	if e.Gen != t.gen || !t.scanning {
		return t, nil
	}
	t.scanning, t.delayed = false, true
	t.size = max(t.size, e.Bytes)
	then := delayAfter(t.size - t.Answered)
	if e.Through <= t.Answered { // the scan failed: skip this output
		t.Answered = t.size
		return t, []TerminalEffect{then}
	}
	t.Answered = e.Through
	if len(e.Data) == 0 {
		return t, []TerminalEffect{then}
	}
	return t, []TerminalEffect{Answer{Data: e.Data, Through: t.Answered}, then}
}

// released continues after the output that the client's terminal has shown.
func (t Terminal) released(e messages.ReleaseTerminal) (Terminal, []TerminalEffect) {
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
