package engine

import (
	"fmt"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// maxLine bounds a line, in bytes: the kernel drops more, and keeps room for the end
// (N_TTY_BUF_SIZE).
const maxLine = 4095

// prepare turns a piece into what is typed, or returns why that is impossible. It runs
// when all input before was taken, since a program may have changed the modes then.
func (t *terminal) prepare(p *piece) *messages.Error {
	modes := t.modes
	t.end.use(func(master int) {
		if now, err := t.end.sys.Modes(master); err == nil {
			modes = *now
		}
	})
	cooked := modes.Lflag&unix.ICANON != 0
	if t.cooked = cooked; !cooked {
		t.line = 0 // each byte is read as it is
	}
	if p.eof {
		return t.prepareEnd(p, &modes, cooked)
	}
	if cooked && !p.raw && t.longest(p.data, &modes) > maxLine {
		return &messages.Error{
			Code: messages.LineTooLong, Reason: "line",
			Message: fmt.Sprintf("a line of the input has more than %d bytes, which the terminal would cut", maxLine),
			Hint:    "put an end into it, switch the terminal to raw mode, or say raw to have it cut",
		}
	}
	return nil
}

// prepareEnd turns a piece into the key for end of file. At the start of a line the key
// ends the input. Within a line it submits the line, so it is typed twice.
func (t *terminal) prepareEnd(p *piece, modes *unix.Termios, cooked bool) *messages.Error {
	key := modes.Cc[unix.VEOF]
	if !cooked {
		key = t.modes.Cc[unix.VEOF] // a program in raw mode expects the initial key
	}
	if key == disabled {
		return &messages.Error{
			Code: messages.Unsupported, Reason: "eof", Message: "the terminal has no key for the end of the input",
			Hint: "reset it, or signal the job",
		}
	}
	p.data = []byte{key}
	if cooked && t.line > 0 {
		p.data = []byte{key, key}
	}
	return nil
}

// longest returns the length of the longest line that p ends or begins.
func (t *terminal) longest(p []byte, modes *unix.Termios) int {
	line, most := t.line, t.line
	for _, b := range p {
		if endsLine(b, modes) {
			line = 0
			continue
		}
		line++
		most = max(most, line)
	}
	return most
}

// typed updates the incomplete line after a write.
func (t *terminal) typed(p []byte) {
	if !t.cooked {
		return
	}
	for _, b := range p {
		if t.line++; endsLine(b, &t.modes) {
			t.line = 0
		}
	}
}

// endsLine reports whether a key ends or drops a line.
func endsLine(b byte, modes *unix.Termios) bool {
	switch b {
	case '\n':
		return true
	case '\r':
		return modes.Iflag&(unix.ICRNL|unix.IGNCR) == unix.ICRNL
	case disabled:
		return false
	case modes.Cc[unix.VEOF], modes.Cc[unix.VEOL], modes.Cc[unix.VEOL2], modes.Cc[unix.VKILL]:
		return true
	case modes.Cc[unix.VINTR], modes.Cc[unix.VQUIT], modes.Cc[unix.VSUSP]:
		return modes.Lflag&unix.ISIG != 0
	}
	return false
}
