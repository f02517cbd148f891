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

// Printer is where the program shows things: what the command prints, its own
// sentences, and on a terminal one line that is drawn again and again. Only what
// goes to a terminal takes turns; a pipe that nobody reads blocks nothing else,
// and nobody is blocked for long by what we say ourselves.
type Printer struct {
	Out, Err Stream
	Notes    out.AsyncWriter

	writeMu sync.Mutex // of who writes to a terminal
	drawn   bool       // the line is there; guarded by turn

	changes      *terminalChanges // nil: what is shown is not followed; guarded by turn
	stuck        atomic.Bool      // our terminal takes no more, and was left to the guard; whoever writes has turn
	restartGuard func()           // starts that guard; nil: it is not needed
	raw          atomic.Bool      // our terminal makes no CRLF of a LF

	mu   sync.Mutex // of what follows; held by nobody who writes
	open bool       // the last line of where we speak is the command's and has no end
	last time.Time  // when the command last wrote there
}

// Stream is one of the two streams.
type Stream struct {
	screen   *Printer
	File     *os.File
	Terminal bool
	ours     bool // it is where we speak, too
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

// Write implements io.Writer for what the command prints, which passes unchanged.
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

// Notef writes a sentence of ours on a line of its own. One that cannot be written
// is lost: there is nobody to tell.
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

// setOpen says whether the last line where we speak has an end from now on, and
// whether it had.
func (s *Printer) setOpen(open bool) (was bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, s.open = s.open, open
	return was
}

// Echoed says that a signal came which has its key: the terminal has shown ^C,
// and its line has no end.
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

// Draw shows the line, if it is quiet.
func (s *Printer) Draw(line string, silent time.Duration) {
	if s.Notes.Busy() {
		return // the terminal shows nothing now, and would show a row of lines later
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

// quiet says whether the command has been silent for so long, and has left the
// terminal at the beginning of a line.
func (s *Printer) quiet(silent time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.open && time.Since(s.last) >= silent
}

// wipeLine goes to the beginning of the line and clears it.
const wipeLine = "\r\x1b[K"

// eraseLine takes the line away. Called with turn.
func (s *Printer) eraseLine() {
	if s.drawn {
		_, _ = s.Err.File.WriteString(wipeLine)
		s.drawn = false
	}
}

// Clear takes the line away.
func (s *Printer) Clear() {
	s.Notes.Do(func() {
		s.writeMu.Lock()
		defer s.writeMu.Unlock()
		s.eraseLine()
	})
}
