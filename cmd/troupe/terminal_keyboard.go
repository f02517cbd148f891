package main

import (
	"bytes"
	"unicode/utf8"

	"golang.org/x/sys/unix"

	"troupe/internal/cli"
)

// keyAct is what typing comes to.
type keyAct struct {
	bytes                 []byte
	interrupt, end, leave bool
}

// lineEditor makes lines of what is typed, as a terminal does for a program that
// reads it: with backspace and an echo. It sees the detach keys at once. What is
// raw passes as it is, and has none.
type lineEditor struct {
	leave []byte
	raw   bool
	echo  func(string)

	line  []byte
	begun int // how many of the detach keys were typed
}

const (
	keyInterrupt = 0x03 // Ctrl-C
	keyEnd       = 0x04 // Ctrl-D
	keyKill      = 0x15 // Ctrl-U: the line
)

func (k *lineEditor) take(typed []byte) []keyAct {
	if k.raw {
		if len(typed) == 0 {
			return nil
		}
		return []keyAct{{bytes: bytes.Clone(typed)}}
	}
	var acts []keyAct
	for _, b := range typed {
		if len(k.leave) > 0 && b == k.leave[k.begun] {
			if k.begun++; k.begun == len(k.leave) {
				return append(acts, keyAct{leave: true})
			}
			continue
		}
		meant := append(bytes.Clone(k.leave[:k.begun]), b)
		for k.begun > 0 && !bytes.HasSuffix(meant, k.leave[:k.begun]) { // the end of it may be their beginning
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

// key takes one byte of a line.
func (k *lineEditor) key(b byte) (keyAct, bool) {
	switch b {
	case keyInterrupt:
		k.line = nil
		k.echo("^C\r\n")
		return keyAct{interrupt: true}, true
	case keyEnd:
		if len(k.line) == 0 {
			return keyAct{end: true}, true
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
		k.echo("\r\n")
		return k.send()
	default:
		k.line = append(k.line, b)
		switch {
		case b == '\t' || b >= ' ':
			k.echo(string([]byte{b})) // a part of a character, maybe
		default:
			k.echo("^" + string(rune(b|0x40)))
		}
	}
	return keyAct{}, false
}

func (k *lineEditor) send() (keyAct, bool) {
	line := k.line
	k.line = nil
	return keyAct{bytes: line}, true
}

// rubOut takes the last character back.
func (k *lineEditor) rubOut() {
	if len(k.line) == 0 {
		return
	}
	r, size := utf8.DecodeLastRune(k.line)
	k.line = k.line[:len(k.line)-size]
	k.echo("\b \b")
	if r < ' ' && r != '\t' {
		k.echo("\b \b")
	}
}

// lineKeyboard makes our terminal give each key at once, until the function that it
// returns is called. Elsewhere it does nothing.
func lineKeyboard(m *cli.Main, s *printer) (restore func()) {
	restore, _ = changeTerminal(m, m.In, s, func(modes *unix.Termios) {
		modes.Lflag &^= unix.ICANON | unix.ECHO | unix.ISIG | unix.IEXTEN
		modes.Iflag &^= unix.IXON | unix.ICRNL
		modes.Cc[unix.VMIN], modes.Cc[unix.VTIME] = 1, 0
	}, plainly)
	return restore
}
