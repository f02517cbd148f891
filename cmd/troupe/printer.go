package main

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

// printer is where the program shows things: what the command prints, its own
// sentences, and on a terminal one line that is drawn again and again. Only what
// goes to a terminal takes turns; a pipe that nobody reads blocks nothing else,
// and nobody is blocked for long by what we say ourselves.
type printer struct {
	out, err printerStream
	voice    out.AsyncWriter

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

// printerStream is one of the two streams.
type printerStream struct {
	screen   *printer
	file     *os.File
	terminal bool
	ours     bool // it is where we speak, too
}

func newScreen(m *cli.Main) *printer {
	s := &printer{last: time.Now()}
	s.out = printerStream{screen: s, file: m.Out, terminal: cli.IsTerminal(m.Out)}
	s.err = printerStream{screen: s, file: m.Err, terminal: cli.IsTerminal(m.Err)}
	s.err.ours = true
	s.out.ours = s.out.terminal && s.err.terminal || cli.SameFile(m.Out, m.Err)
	return s
}

// Write implements io.Writer for what the command prints, which passes unchanged.
func (p *printerStream) Write(b []byte) (int, error) {
	s := p.screen
	show := p.file.Write
	if p.terminal {
		s.writeMu.Lock()
		defer s.writeMu.Unlock()
		s.eraseLine()
		if p == &s.out && s.changes != nil {
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

// notef writes a sentence of ours on a line of its own. One that cannot be written
// is lost: there is nobody to tell.
func (s *printer) notef(format string, args ...any) {
	text := "troupe: " + out.Clean(fmt.Sprintf(format, args...)) + "\n"
	s.voice.Do(func() {
		if s.err.terminal {
			s.writeMu.Lock()
			defer s.writeMu.Unlock()
			s.eraseLine()
		}
		if s.setOpen(false) {
			text = "\n" + text
		}
		if s.raw.Load() && s.err.terminal {
			text = strings.ReplaceAll(text, "\n", "\r\n")
		}
		_, _ = s.err.file.WriteString(text)
	})
}

// setOpen says whether the last line where we speak has an end from now on, and
// whether it had.
func (s *printer) setOpen(open bool) (was bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, s.open = s.open, open
	return was
}

// echoed says that a signal came which has its key: the terminal has shown ^C,
// and its line has no end.
func (s *printer) echoed(sig os.Signal) {
	if !s.err.terminal || sig != unix.SIGINT && sig != unix.SIGQUIT {
		return
	}
	s.voice.Do(func() {
		s.writeMu.Lock()
		defer s.writeMu.Unlock()
		s.eraseLine()
		s.setOpen(true)
	})
}

// draw shows the line, if it is quiet.
func (s *printer) draw(line string, silent time.Duration) {
	if s.voice.Busy() {
		return // the terminal shows nothing now, and would show a row of lines later
	}
	s.voice.Do(func() {
		s.writeMu.Lock()
		defer s.writeMu.Unlock()
		if !s.quiet(silent) {
			return
		}
		_, _ = s.err.file.WriteString(wipeLine + line)
		s.drawn = true
	})
}

// quiet says whether the command has been silent for so long, and has left the
// terminal at the beginning of a line.
func (s *printer) quiet(silent time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.open && time.Since(s.last) >= silent
}

// wipeLine goes to the beginning of the line and clears it.
const wipeLine = "\r\x1b[K"

// eraseLine takes the line away. Called with turn.
func (s *printer) eraseLine() {
	if s.drawn {
		_, _ = s.err.file.WriteString(wipeLine)
		s.drawn = false
	}
}

// clear takes the line away.
func (s *printer) clear() {
	s.voice.Do(func() {
		s.writeMu.Lock()
		defer s.writeMu.Unlock()
		s.eraseLine()
	})
}
