package shelltext

import (
	"bytes"
	"strconv"
	"strings"
	"unicode/utf8"
)

// locks are the modifiers for lock states: caps lock and num lock.
const locks = 64 | 128

// otherKey is the first parameter of an xterm sequence (modifyOtherKeys) whose last
// parameter is the key's code.
const otherKey = 27

// released is the event type of a key release.
const released = 3

// readSequence parses the escape sequence of one key. A release returns the zero
// keyPress. text is what the key writes, if the sequence contains it and no modifier
// changes it.
func readSequence(sequence []byte) (s keyPress, text string, ok bool) {
	rest, csi := bytes.CutPrefix(sequence, []byte{escape, '['})
	if ss3, is := bytes.CutPrefix(sequence, []byte{escape, 'O'}); is && len(ss3) == 1 {
		k, found := find(func(k *key) bool { return ss3[0] != 0 && (k.letter == ss3[0] || k.keypad == ss3[0]) })
		return keyPress{key: k}, "", found
	}
	if !csi || len(rest) == 0 {
		return s, "", false
	}
	final := rest[len(rest)-1]
	fields, ok := parameters(string(rest[:len(rest)-1]))
	if !ok {
		return s, "", false
	}
	s.mods = modifiers(max(fields.at(1, 0), 1)-1) &^ locks
	if fields.at(1, 1) == released {
		return keyPress{}, "", true
	}
	code := fields.at(0, 0)
	if final == '~' && code == otherKey && len(fields) == maxParameters {
		final, code = 'u', fields.at(2, 0)
		fields = fields[:2]
	}
	if final != 'u' {
		number := code
		s.key, ok = find(func(k *key) bool {
			return final == '~' && k.number != 0 && k.number == number || k.letter != 0 && k.letter == final && number <= 1
		})
		if final == 'Z' {
			return keyPress{key: tabKey(), mods: withShift}, "", true
		}
		return s, "", ok
	}
	if k, found := find(func(k *key) bool { return k.code != 0 && k.code == code }); found {
		s.key = k
		return s, "", true
	}
	if s.char = rune(code); code < ' ' || !utf8.ValidRune(s.char) || isPrivate(s.char) {
		return s, "", false
	}
	if s.mods&^withShift == 0 {
		text = fields.text(s)
	}
	return s, text, true
}

// isPrivate reports whether char is in the private range of the kitty protocol. Its
// keys without a name here, such as volume or a modifier alone, are of no use to
// programs.
func isPrivate(char rune) bool { return char >= 0xe000 && char <= 0xf8ff }

// text returns what a character key writes: the text in the sequence, or the shifted
// key.
func (p parameterList) text(s keyPress) string {
	var b strings.Builder
	for i := range p.len(2) {
		if char := rune(p.at(2, i)); char >= ' ' && utf8.ValidRune(char) {
			b.WriteRune(char)
		}
	}
	if b.Len() > 0 {
		return b.String()
	}
	if shifted := rune(p.at(0, 1)); s.mods == withShift && shifted >= ' ' && utf8.ValidRune(shifted) {
		return string(shifted)
	}
	return ""
}

// parameterList holds the parameters of a CSI sequence, each with its parts.
type parameterList [][]int

// Bounds of a sequence: a key has three parameters, and a text of a few characters.
const (
	maxParameters = 3
	maxParts      = 32
)

// parameters parses the parameters; an empty one is 0.
func parameters(text string) (parameterList, bool) {
	var list parameterList
	for field := range strings.SplitSeq(text, ";") {
		var parts []int
		for part := range strings.SplitSeq(field, ":") {
			n, err := strconv.ParseUint(part, 10, 24)
			if err != nil && part != "" || len(parts) == maxParts {
				return nil, false
			}
			parts = append(parts, int(n))
		}
		if list = append(list, parts); len(list) > maxParameters {
			return nil, false
		}
	}
	return list, true
}

func (p parameterList) len(field int) int {
	if field >= len(p) {
		return 0
	}
	return len(p[field])
}

// at returns a part of a parameter, 0 if it is missing.
func (p parameterList) at(field, part int) int {
	if part >= p.len(field) {
		return 0
	}
	return p[field][part]
}
