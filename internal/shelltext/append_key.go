package shelltext

import (
	"slices"
	"strconv"
	"unicode/utf8"
)

const escape = 0x1b

// codes reports whether the program asked for kitty escape codes for keys without a
// byte.
func (m KeyMode) codes() bool { return m.Kitty&(Disambiguate|AllKeys) != 0 }

// appendKey encodes a named key.
func (m KeyMode) appendKey(out []byte, s keyPress) (typed []byte, exact bool) {
	switch k := s.key; {
	case k.c0 != 0:
		return m.appendC0(out, s)
	case k.keypad != 0:
		return m.appendKeypad(out, s)
	case m.codes():
		return m.appendFunction(out, s), true
	case s.mods > withShift|withAlt|withCtrl, k.letter == 0 && k.number == 0:
		return out, false
	case k.letter != 0 && s.mods == 0 && (m.AppCursor || k.letter >= 'P'): // letters from P on are F1 to F4
		return append(out, escape, 'O', k.letter), true
	case k.letter != 0:
		return appendLetter(out, k.letter, s.mods), true
	default:
		return appendNumber(out, k.number, s.mods, '~'), true
	}
}

// appendFunction encodes a key without text in the kitty protocol.
func (m KeyMode) appendFunction(out []byte, s keyPress) []byte {
	switch k := s.key; {
	case k.code != 0:
		return appendNumber(out, k.code, s.mods, 'u')
	case k.letter != 0 && k.letter != 'R': // CSI R is also the reply with the cursor's position
		return appendLetter(out, k.letter, s.mods)
	default:
		return appendNumber(out, k.number, s.mods, '~')
	}
}

// appendC0 encodes a key that has a byte of its own. Without codes, alt is a leading
// escape; of other modifiers only shift+tab and ctrl+backspace are visible.
func (m KeyMode) appendC0(out []byte, s keyPress) (typed []byte, exact bool) {
	b, mods := s.key.c0, s.mods
	if m.codes() && (mods != 0 || b == escape) || m.Kitty&AllKeys != 0 {
		return appendNumber(out, s.key.code, mods, 'u'), true
	}
	if mods&withAlt != 0 {
		out, mods = append(out, escape), mods&^withAlt
	}
	switch {
	case b == '\t' && mods == withShift:
		return append(out, escape, '[', 'Z'), true
	case b == 0x7f && m.BackspaceBS != (mods&withCtrl != 0):
		b = 0x08
	}
	return append(out, b), mods == 0 || s.key.c0 == 0x7f && mods == withCtrl
}

// appendKeypad encodes a key of the keypad.
func (m KeyMode) appendKeypad(out []byte, s keyPress) (typed []byte, exact bool) {
	k := s.key
	switch {
	case m.codes() && (s.mods != 0 || k.plain == '\r') || m.Kitty&AllKeys != 0:
		text := rune(k.plain)
		if s.mods != 0 || text == '\r' {
			text = 0
		}
		return m.appendCode(out, k.code, 0, s.mods, text), true
	case m.AppKeypad && !m.codes():
		return append(out, escape, 'O', k.keypad), s.mods == 0
	}
	return append(out, k.plain), s.mods == 0
}

// appendChar encodes a character. Without codes, ctrl makes it a control character, and
// alt is a leading escape.
func (m KeyMode) appendChar(out []byte, s keyPress) (typed []byte, exact bool) {
	upper, cased := capital(s.char)
	if m.Kitty&AllKeys != 0 || m.codes() && s.mods&^withShift != 0 {
		text, shifted := s.char, rune(0)
		if s.mods&withShift != 0 && cased {
			text, shifted = upper, upper
		}
		if s.mods&^withShift != 0 {
			text = 0
		}
		return m.appendCode(out, int(s.char), shifted, s.mods, text), true
	}
	char, mods := s.char, s.mods
	if mods&withAlt != 0 {
		out, mods = append(out, escape), mods&^withAlt
	}
	if b, ok := control(char); ok && mods&withCtrl != 0 {
		return append(out, b), mods == withCtrl
	}
	if mods&withShift != 0 && cased {
		char, mods = upper, mods&^withShift
	}
	return utf8.AppendRune(out, char), mods == 0
}

// control returns the control character of a character with ctrl, as xterm and kitty
// agree.
func control(char rune) (b byte, ok bool) {
	switch {
	case char >= '@' && char < 0x7f:
		return byte(char) & 0x1f, true
	case char == ' ', char == '2':
		return 0, true
	case char >= '3' && char <= '7':
		return byte(char-'3') + escape, true
	case char == '8', char == '?':
		return 0x7f, true
	case char == '/':
		return 0x1f, true
	}
	return 0, false
}

// appendCode appends CSI code:SHIFTED;MODS;TEXT u, with the parts that the program
// asked for.
func (m KeyMode) appendCode(out []byte, code int, shifted rune, mods modifiers, text rune) []byte {
	out = strconv.AppendInt(append(out, escape, '['), int64(code), 10)
	if m.Kitty&AlternateKeys != 0 && shifted != 0 {
		out = strconv.AppendInt(append(out, ':'), int64(shifted), 10)
	}
	withText := m.Kitty&AssociatedText != 0 && text != 0
	if mods != 0 || withText {
		out = append(out, ';')
	}
	if mods != 0 {
		out = strconv.AppendInt(out, int64(mods)+1, 10)
	}
	if withText {
		out = strconv.AppendInt(append(out, ';'), int64(text), 10)
	}
	return append(out, 'u')
}

// appendLetter appends CSI letter, or CSI 1;MODS letter.
func appendLetter(out []byte, letter byte, mods modifiers) []byte {
	if mods == 0 {
		return append(out, escape, '[', letter)
	}
	return appendNumber(out, 1, mods, letter)
}

// appendNumber appends CSI number final, or CSI number;MODS final.
func appendNumber(out []byte, number int, mods modifiers, final byte) []byte {
	out = strconv.AppendInt(append(out, escape, '['), int64(number), 10)
	if mods != 0 {
		out = strconv.AppendInt(append(out, ';'), int64(mods)+1, 10)
	}
	return append(out, final)
}

// piped returns the byte of a key for a program that reads a pipe.
func (s keyPress) piped() (b byte, ok bool) {
	switch {
	case s.key == nil && s.mods == withCtrl && s.char >= '@' && s.char < 0x7f:
		return byte(s.char) & 0x1f, true
	case s.mods != 0:
		return 0, false
	case s.key == nil:
		return byte(s.char), true // a character in the table is ASCII
	case s.key.c0 == '\r':
		return '\n', true
	}
	return s.key.c0, s.key.c0 != 0
}

// TranslateKey converts the sequence of one key, in any protocol, to what a reader in
// mode m expects. A release becomes nothing. An unknown sequence stays
// unchanged. A modifier that the reader cannot see is dropped, as terminals do.
func TranslateKey(sequence []byte, m KeyMode) []byte {
	s, text, ok := readSequence(sequence)
	switch {
	case !ok:
		return slices.Clone(sequence)
	case s == (keyPress{}) && text == "":
		return nil
	case text != "" && m.Kitty&AllKeys == 0:
		return []byte(text)
	}
	typed, _ := m.append(nil, s)
	return typed
}
