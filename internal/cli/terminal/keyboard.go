package terminal

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"troupe/internal/cli"
)

// KeyAct is the effect of typed input: bytes to send, or one of the actions.
type KeyAct struct {
	Bytes                 []byte
	Interrupt, End, Leave bool
}

// LineEditor edits typed lines like a terminal in canonical mode, with backspace and echo.
// It finds the detach keys as they are typed. With Raw it forwards all bytes unchanged.
type LineEditor struct {
	Leave []byte
	Raw   bool
	Echo  func(string)

	line  []byte
	begun int // detach keys typed so far
}

const (
	keyInterrupt = 0x03 // Ctrl-C
	keyEnd       = 0x04 // Ctrl-D
	keyKill      = 0x15 // Ctrl-U: erase the line
)

// Take returns the effects of the typed bytes.
func (k *LineEditor) Take(typed []byte) []KeyAct {
	if k.Raw {
		if len(typed) == 0 {
			return nil
		}
		return []KeyAct{{Bytes: bytes.Clone(typed)}}
	}
	var acts []KeyAct
	for _, b := range typed {
		if len(k.Leave) > 0 && b == k.Leave[k.begun] {
			if k.begun++; k.begun == len(k.Leave) {
				return append(acts, KeyAct{Leave: true})
			}
			continue
		}
		meant := append(bytes.Clone(k.Leave[:k.begun]), b)
		for k.begun > 0 && !bytes.HasSuffix(meant, k.Leave[:k.begun]) { // keep the longest end that begins Leave
			k.begun--
		}
		for _, b := range meant[:len(meant)-k.begun] {
			if act, ok := k.key(b); ok {
				acts = append(acts, act)
			}
		}
	}
	return acts
}

// key handles one byte; ok reports whether it has an effect beyond the line.
func (k *LineEditor) key(b byte) (KeyAct, bool) {
	switch b {
	case keyInterrupt:
		k.line = nil
		k.Echo("^C\r\n")
		return KeyAct{Interrupt: true}, true
	case keyEnd:
		if len(k.line) == 0 {
			return KeyAct{End: true}, true
		}
		return k.send()
	case keyKill:
		for len(k.line) > 0 {
			k.rubOut()
		}
	case '\b', 0x7f:
		k.rubOut()
	case '\r', '\n':
		k.line = append(k.line, '\n')
		k.Echo("\r\n")
		return k.send()
	default:
		k.line = append(k.line, b)
		switch {
		case b == '\t' || b >= ' ':
			k.Echo(string([]byte{b})) // may be part of a UTF-8 character
		default:
			k.Echo("^" + string(rune(b|0x40)))
		}
	}
	return KeyAct{}, false
}

func (k *LineEditor) send() (KeyAct, bool) {
	line := k.line
	k.line = nil
	return KeyAct{Bytes: line}, true
}

// rubOut erases the last character.
func (k *LineEditor) rubOut() {
	if len(k.line) == 0 {
		return
	}
	r, size := utf8.DecodeLastRune(k.line)
	k.line = k.line[:len(k.line)-size]
	k.Echo("\b \b")
	if r < ' ' && r != '\t' {
		k.Echo("\b \b")
	}
}

// LineKeyboard makes the terminal on stdin deliver each key at once, until restore is
// called. For other files it does nothing.
func LineKeyboard(m *cli.Main, s *Printer) (restore func()) {
	restore, _ = changeTerminal(m, m.In, s, func(modes *unix.Termios) {
		modes.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
		modes.Iflag &^= unix.IXON | unix.ICRNL
		modes.Cc[unix.VMIN], modes.Cc[unix.VTIME] = 1, 0
	}, plainly)
	return restore
}
