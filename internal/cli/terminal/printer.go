package terminal

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/internal/cli/out"
)

// Printer prints the output of a command, sentences of troupe, and on a terminal one status
// line that is redrawn. Only writes to a terminal exclude each other: a pipe without a reader
// blocks no other stream. Sentences of troupe never block their caller for long.
type Printer struct {
	Out, Err Stream
	Notes    out.AsyncWriter

	writeMu sync.Mutex // held during writes to a terminal
	drawn   bool       // the status line is on the terminal; guarded by writeMu

	changes *terminalChanges // nil: modes are not tracked; guarded by writeMu
	stuck   atomic.Bool      // the terminal accepts no output and is left to the guard; the blocked writer holds writeMu
	guard   atomic.Int64     // process of the guard; 0: none
	raw     atomic.Bool      // the terminal does not turn LF into CRLF

	mu   sync.Mutex // guards the fields below; never held during a write
	open bool       // the last line of the stream with our sentences is unfinished output of the command
	last time.Time  // the command's last write to that stream
}

// Stream is stdout or stderr.
type Stream struct {
	screen   *Printer
	File     *os.File
	Terminal bool
	ours     bool // carries the sentences of troupe, too
}

// NewPrinter returns a printer on stdout and stderr.
func NewPrinter(m *cli.Main) *Printer {
	s := &Printer{last: time.Now()}
	s.Out = Stream{screen: s, File: m.Out, Terminal: cli.IsTerminal(m.Out)}
	s.Err = Stream{screen: s, File: m.Err, Terminal: cli.IsTerminal(m.Err)}
	s.Err.ours = true
	s.Out.ours = s.Out.Terminal && s.Err.Terminal || cli.SameFile(m.Out, m.Err)
	return s
}

// Write implements io.Writer for output of the command, which it does not change.
func (p *Stream) Write(b []byte) (int, error) {
	s := p.screen
	show := p.File.Write
	if p.Terminal {
		s.writeMu.Lock()
		defer s.writeMu.Unlock()
		s.eraseLine()
		if p == &s.Out && s.changes != nil {
			show = s.shown
		}
	}
	n, err := show(b)
	if p.ours && n > 0 {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.open, s.last = b[n-1] != '\n', time.Now()
	}
	return n, err
}

// Notef writes a sentence of troupe on a line of its own. It ignores write errors: there is
// no other place to report them.
func (s *Printer) Notef(format string, args ...any) {
	text := "troupe: " + out.Clean(fmt.Sprintf(format, args...)) + "\n"
	s.Notes.Do(func() {
		if s.Err.Terminal {
			s.writeMu.Lock()
			defer s.writeMu.Unlock()
			s.eraseLine()
		}
		if s.setOpen(false) {
			text = "\n" + text
		}
		if s.raw.Load() && s.Err.Terminal {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		_, _ = s.Err.File.WriteString(text)
	})
}

// setOpen sets whether the last line is unfinished, and returns the old value.
func (s *Printer) setOpen(open bool) (was bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, s.open = s.open, open
	return was
}

// Echoed notes that a key sent sig: the terminal has echoed ^C or ^\ and its line is
// unfinished.
func (s *Printer) Echoed(sig os.Signal) {
	if !s.Err.Terminal || sig != unix.SIGINT && sig != unix.SIGQUIT {
		return
	}
	s.Notes.Do(func() {
		s.writeMu.Lock()
		defer s.writeMu.Unlock()
		s.eraseLine()
		s.setOpen(true)
	})
}

// Draw shows the status line, if the command has printed nothing for silent.
func (s *Printer) Draw(line string, silent time.Duration) {
	if s.Notes.Busy() {
		return // a blocked terminal would later show all queued lines
	}
	s.Notes.Do(func() {
		s.writeMu.Lock()
		defer s.writeMu.Unlock()
		if !s.quiet(silent) {
			return
		}
		_, _ = s.Err.File.WriteString(wipeLine + line)
		s.drawn = true
	})
}

// quiet reports whether the command has printed nothing for silent and its last line is
// finished.
func (s *Printer) quiet(silent time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.open && time.Since(s.last) >= silent
}

// wipeLine moves to the beginning of the line and clears it.
const wipeLine = "\r\x1b[K"

// eraseLine removes the status line. The caller holds writeMu.
func (s *Printer) eraseLine() {
	if s.drawn {
		_, _ = s.Err.File.WriteString(wipeLine)
		s.drawn = false
	}
}

// Clear removes the status line.
func (s *Printer) Clear() {
	s.Notes.Do(func() {
		s.writeMu.Lock()
		defer s.writeMu.Unlock()
		s.eraseLine()
	})
}
