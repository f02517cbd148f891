package main

import (
	"fmt"
	"os"
	"sync"
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

	mu    sync.Mutex
	drawn bool      // the line is there
	open  bool      // the last line of where we speak is the command's and has no end
	last  time.Time // when the command last wrote there
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
	if p.terminal {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wipe()
		n, err := p.file.Write(b)
		p.wrote(b[:n])
		return n, err
	}
	n, err := p.file.Write(b)
	if p.ours {
		s.mu.Lock()
		defer s.mu.Unlock()
		p.wrote(b[:n])
	}
	return n, err
}

// wrote notes how the command has left where we speak. Called with mu.
func (p *pane) wrote(b []byte) {
	if p.ours && len(b) > 0 {
		p.screen.open, p.screen.last = b[len(b)-1] != '\n', time.Now()
	}
}

// say writes a sentence of ours on a line of its own. One that cannot be written
// is lost: there is nobody to tell.
func (s *screen) say(format string, args ...any) {
	text := "troupe: " + clean(fmt.Sprintf(format, args...)) + "\n"
	s.voice.do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wipe()
		if s.open {
			text, s.open = "\n"+text, false
		}
		_, _ = s.err.file.WriteString(text)
	})
}

// echoed says that a signal came which has its key: the terminal has shown ^C,
// and its line has no end.
func (s *screen) echoed(sig os.Signal) {
	if !s.err.terminal || sig != unix.SIGINT && sig != unix.SIGQUIT {
		return
	}
	s.voice.do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wipe()
		s.open = true
	})
}

// draw shows the line, if the command has been silent for long and has left the
// terminal at the beginning of a line.
func (s *screen) draw(line string, silent time.Duration) {
	if s.voice.busy() {
		return // the terminal shows nothing now, and would show a row of lines later
	}
	s.voice.do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.open || time.Since(s.last) < silent {
			return
		}
		_, _ = s.err.file.WriteString(wipeLine + line)
		s.drawn = true
	})
}

// wipeLine goes to the beginning of the line and clears it.
const wipeLine = "\r\x1b[K"

// wipe takes the line away. Called with mu.
func (s *screen) wipe() {
	if s.drawn {
		_, _ = s.err.file.WriteString(wipeLine)
		s.drawn = false
	}
}

// clear takes the line away.
func (s *screen) clear() {
	s.voice.do(func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		s.wipe()
	})
}
