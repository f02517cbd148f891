package terminal

import (
	emulator "troupe/backends/screen"
	"troupe/internal/cli"
)

// terminalChanges tracks the modes that a command turns on while our terminal shows its
// output. At the end exactly those still on are undone.
type terminalChanges struct {
	changes  emulator.ModeTracker
	kept     emulator.ModeState // the modes that the guard would undo
	rows     func() int
	guard    *terminalGuard // nil: no guard
	restored bool           // the modes are undone; later output is dropped
}

// Follows starts tracking the modes of the terminal on stdout.
func (s *Printer) Follows(m *cli.Main) {
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if !s.Out.Terminal || s.changes != nil {
		return
	}
	s.changes = &terminalChanges{rows: func() int { return cli.TerminalSize(m).Rows }}
}

// guardedBy sets the guard that undoes the modes if we are killed; nil for none.
func (s *Printer) guardedBy(g *terminalGuard) {
	if s.stuck.Load() {
		return // the guard must still restore the terminal
	}
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	if p := s.changes; p != nil {
		p.guard, p.kept = g, emulator.ModeState{}
		p.keep(p.changes.Now())
	}
}

// keep gives the guard the sequences that undo c.
func (p *terminalChanges) keep(c emulator.ModeState) {
	if p.guard != nil && c != p.kept {
		p.guard.keep(c.Undo(p.rows()))
		p.kept = c
	}
}

// shown writes b and tracks its modes; the caller holds writeMu. The guard gets every mode
// of b before the write, so a SIGKILL in the middle loses none.
func (s *Printer) shown(b []byte) (int, error) {
	p := s.changes
	if p.restored || s.stuck.Load() {
		return len(b), nil
	}
	p.keep(p.changes.Write(b))
	n, err := s.Out.File.Write(b)
	p.keep(p.changes.Now())
	return n, err
}

// Unpaint undoes the tracked modes; later output is dropped. With cut, an unfinished line
// of the command is ended first: the command goes on or was interrupted.
func (s *Printer) Unpaint(cut bool) {
	if s.stuck.Load() {
		return
	}
	s.writeMu.Lock()
	defer s.writeMu.Unlock()
	p := s.changes
	if p == nil || p.restored || s.stuck.Load() {
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
	p.restored = true
}

// GivesBack calls Unpaint. If the terminal does not accept it in time, the guard undoes the
// modes when the terminal accepts output again.
func (s *Printer) GivesBack(cut bool, signals *cli.Signals) {
	if !signals.WaitBriefly(func() { s.Unpaint(cut) }) {
		s.stuck.Store(true)
	}
}
