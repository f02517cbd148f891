package terminal

import (
	emulator "troupe/backends/screen"
	"troupe/internal/cli"
)

// terminalChanges is our terminal where it shows that of a command, which turns on there what it
// wants. Whatever of it is on in the end is taken back, and nothing else is.
type terminalChanges struct {
	changes emulator.ModeTracker
	kept    emulator.ModeState // what the guard takes back
	rows    func() int
	guard   *terminalGuard // nil: there is none
	over    bool           // it was taken back: nothing more is shown
}

// Follows begins to follow what our terminal is shown.
func (s *Printer) Follows(m *cli.Main) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if !s.Out.Terminal || s.changes != nil {
		return
	}
	s.changes = &terminalChanges{rows: func() int { return cli.TerminalSize(m).Rows }}
}

// guardedBy says who takes back what is changed, should we be killed; nil: nobody.
func (s *Printer) guardedBy(g *terminalGuard) {
	if s.stuck.Load() {
		return // it is needed still
	}
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if p := s.changes; p != nil {
		p.guard, p.kept = g, emulator.ModeState{}
		p.keep(p.changes.Now())
	}
}

// keep gives the guard what it takes back.
func (p *terminalChanges) keep(c emulator.ModeState) {
	if p.guard != nil && c != p.kept {
		p.guard.keep(c.Undo(p.rows()))
		p.kept = c
	}
}

// shown shows b, and follows it; called with turn. Whoever kills us in the middle finds a guard who knows
// of all that may have been shown of it.
func (s *Printer) shown(b []byte) (int, error) {
	p := s.changes
	if p.over || s.stuck.Load() {
		return len(b), nil
	}
	p.keep(p.changes.Write(b))
	n, err := s.Out.File.Write(b)
	p.keep(p.changes.Now())
	return n, err
}

// Unpaint takes back what is changed of our terminal, on which nothing more is shown then.
// Where who paints it goes on, or was cut off, a line begins behind it.
func (s *Printer) Unpaint(cut bool) {
	if s.stuck.Load() {
		return
	}
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	p := s.changes
	if p == nil || p.over || s.stuck.Load() {
		return
	}
	s.eraseLine()
	now := p.changes.Now()
	text := now.Undo(p.rows())
	if cut && !now.Alternate() && s.Out.ours && s.setOpen(false) {
		text += "\r\n"
	}
	if now.Alternate() {
		s.setOpen(false)
	}
	if text != "" {
		_, _ = s.shown([]byte(text))
	}
	p.over = true
}

// GivesBack is unpaint for a terminal that may take no more: there the guard does it, once
// it takes something again.
func (s *Printer) GivesBack(cut bool, signals *cli.Signals) {
	if !signals.WaitBriefly(func() { s.Unpaint(cut) }) {
		s.stuck.Store(true)
	}
}
