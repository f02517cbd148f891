package main

import (
	"fmt"
	"os"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// screen is where the program shows things: what the command prints, its own
// sentences, and on a terminal one line that is drawn again and again. Only what
// goes to a terminal takes turns; a pipe that nobody reads blocks nothing else,
// and nobody is blocked for long by what we say ourselves.
type screen struct {
	out, err pane
	voice    voice

	turn  sync.Mutex // of who writes to a terminal
	drawn bool       // the line is there; guarded by turn

	painted *painted    // nil: what is shown is not followed; guarded by turn
	stuck   atomic.Bool // our terminal takes no more, and was left to the guard; whoever writes has turn
	again   func()      // starts that guard; nil: it is not needed
	raw     atomic.Bool // our terminal makes no CRLF of a LF

	mu   sync.Mutex // of what follows; held by nobody who writes
	open bool       // the last line of where we speak is the command's and has no end
	last time.Time  // when the command last wrote there
}

// pane is one of the two streams.
type pane struct {
	screen   *screen
	file     *os.File
	terminal bool
	ours     bool // it is where we speak, too
}

func (m *Main) newScreen() *screen {
	s := &screen{last: time.Now()}
	s.out = pane{screen: s, file: m.Out, terminal: isTerminal(m.Out)}
	s.err = pane{screen: s, file: m.Err, terminal: isTerminal(m.Err)}
	s.err.ours = true
	s.out.ours = s.out.terminal && s.err.terminal || sameFile(m.Out, m.Err)
	return s
}

// Write implements io.Writer for what the command prints, which passes unchanged.
func (p *pane) Write(b []byte) (int, error) {
	s := p.screen
	show := p.file.Write
	if p.terminal {
		s.turn.Lock()
		defer s.turn.Unlock()
		s.wipe()
		if p == &s.out && s.painted != nil {
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

// say writes a sentence of ours on a line of its own. One that cannot be written
// is lost: there is nobody to tell.
func (s *screen) say(format string, args ...any) {
	text := "troupe: " + clean(fmt.Sprintf(format, args...)) + "\n"
	s.voice.do(func() {
		if s.err.terminal {
			s.turn.Lock()
			defer s.turn.Unlock()
			s.wipe()
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
func (s *screen) setOpen(open bool) (was bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	was, s.open = s.open, open
	return was
}

// echoed says that a signal came which has its key: the terminal has shown ^C,
// and its line has no end.
func (s *screen) echoed(sig os.Signal) {
	if !s.err.terminal || sig != unix.SIGINT && sig != unix.SIGQUIT {
		return
	}
	s.voice.do(func() {
		s.turn.Lock()
		defer s.turn.Unlock()
		s.wipe()
		s.setOpen(true)
	})
}

// draw shows the line, if it is quiet.
func (s *screen) draw(line string, silent time.Duration) {
	if s.voice.busy() {
		return // the terminal shows nothing now, and would show a row of lines later
	}
	s.voice.do(func() {
		s.turn.Lock()
		defer s.turn.Unlock()
		if !s.quiet(silent) {
			return
		}
		_, _ = s.err.file.WriteString(wipeLine + line)
		s.drawn = true
	})
}

// quiet says whether the command has been silent for so long, and has left the
// terminal at the beginning of a line.
func (s *screen) quiet(silent time.Duration) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return !s.open && time.Since(s.last) >= silent
}

// wipeLine goes to the beginning of the line and clears it.
const wipeLine = "\r\x1b[K"

// wipe takes the line away. Called with turn.
func (s *screen) wipe() {
	if s.drawn {
		_, _ = s.err.file.WriteString(wipeLine)
		s.drawn = false
	}
}

// clear takes the line away.
func (s *screen) clear() {
	s.voice.do(func() {
		s.turn.Lock()
		defer s.turn.Unlock()
		s.wipe()
	})
}
