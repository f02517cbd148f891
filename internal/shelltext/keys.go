package shelltext

import (
	"fmt"
	"strings"
	"unicode/utf8"

	"troupe/messages"
)

// KeyMode describes what the reader of typed keys expects. The zero value is a terminal
// in its initial state.
type KeyMode struct {
	Pipe        bool  // not a terminal: {enter} is LF, and only keys with a byte can be typed
	AppCursor   bool  // application cursor keys (DECCKM)
	AppKeypad   bool  // application keypad (DECKPAM)
	BackspaceBS bool  // {backspace} is 0x08 (DECBKM, and copilot's, R-217), not 0x7F
	Kitty       Kitty // flags requested with CSI > FLAGS u
}

// Kitty is the set of flags of the kitty keyboard protocol.
type Kitty uint8

// Flags, as the protocol numbers them.
const (
	Disambiguate   Kitty = 1 << iota
	EventTypes           // no effect here: typed keys are presses
	AlternateKeys        // the shifted letter beside the letter
	AllKeys              // text also comes as escape codes
	AssociatedText       // with the text of the key
)

// EncodeKeys returns the bytes of keys typed at a reader in mode m. Text stands for
// itself, {name} and <name> for a key, with modifiers before the name: {ctrl+c} and
// <C-c>, {shift+alt+left} and <S-M-Left>. {lbrace} and <lt> are the two characters that
// begin a key. At a terminal a line end in the text is {enter}.
//
// The error invalid_params names an unknown key, or one that the reader cannot tell
// from another: modifiers are never dropped. The error unsupported names a terminal key
// that is typed into a pipe. The output is less than 32 times as long as the text.
func EncodeKeys(text string, m KeyMode) ([]byte, error) {
	out := make([]byte, 0, len(text)+8)
	for text != "" {
		i := strings.IndexAny(text, "{<")
		if i < 0 {
			return m.appendText(out, text), nil
		}
		out, text = m.appendText(out, text[:i]), text[i:]
		end := strings.IndexByte(text, map[byte]byte{'{': '}', '<': '>'}[text[0]])
		if end < 0 {
			return nil, m.badKey(text, "has no closing bracket")
		}
		var err *messages.Error
		if out, err = m.appendNamed(out, text[1:end]); err != nil {
			return nil, err
		}
		text = text[end+1:]
	}
	return out, nil
}

// EncodeKey returns the bytes of one key, named as between the brackets of EncodeKeys,
// with the same errors.
func EncodeKey(name string, m KeyMode) ([]byte, error) {
	typed, err := m.appendNamed(nil, name)
	if err != nil {
		return nil, err
	}
	return typed, nil
}

// appendText encodes a text without keys.
func (m KeyMode) appendText(out []byte, text string) []byte {
	if m.Pipe {
		return append(out, text...)
	}
	for text != "" {
		char, size := utf8.DecodeRuneInString(text)
		switch {
		case strings.HasPrefix(text, "\r\n"):
			size = 2
			fallthrough
		case char == '\r', char == '\n':
			out, _ = m.appendKey(out, keyPress{key: enterKey()})
		case char == '\t':
			out, _ = m.appendKey(out, keyPress{key: tabKey()})
		case m.Kitty&AllKeys != 0 && char >= ' ' && (char != utf8.RuneError || size > 1):
			out, _ = m.appendChar(out, upperIsShift(keyPress{char: char}))
		default: // invalid bytes and control characters stay as they are
			out = append(out, text[:size]...)
		}
		text = text[size:]
	}
	return out
}

// appendNamed encodes a named key.
func (m KeyMode) appendNamed(out []byte, name string) ([]byte, *messages.Error) {
	s, ok := parseStroke(name)
	if !ok {
		return nil, m.badKey(name, "is not a key")
	}
	if m.Pipe {
		b, ok := s.piped()
		if !ok {
			return nil, &messages.Error{
				Code: messages.Unsupported, Reason: "keys", Message: fmt.Sprintf("the key %q means nothing to a job that reads a pipe", shown(name)),
				Hint: "it is a terminal's; " + pipeKeys,
			}
		}
		return append(out, b), nil
	}
	out, exact := m.append(out, s)
	if !exact {
		return nil, m.badKey(name, "cannot be typed: the program has not asked for keys that only the kitty keyboard protocol tells apart")
	}
	return out, nil
}

// append encodes a key press as a terminal would. exact is false if the reader cannot
// see a modifier, or nothing can be typed.
func (m KeyMode) append(out []byte, s keyPress) (typed []byte, exact bool) {
	if s.key != nil {
		return m.appendKey(out, s)
	}
	return m.appendChar(out, s)
}

// Hints: what can be written.
const (
	pipeKeys     = "use {enter} {tab} {esc} {space} {backspace} <C-c>; {lbrace} and <lt> are { and <"
	terminalKeys = "use {enter} {tab} {esc} {space} {backspace} {delete} {insert} {up} {down} {left} {right} {home} {end} {pageup} {pagedown} " +
		"{f1} … {f35} {kp0} … {kp9} {kpenter}, with ctrl+ shift+ alt+ super+ before the name, or as <C-c> <S-Tab> <M-x> <D-s>; {lbrace} and <lt> are { and <"
)

func (m KeyMode) badKey(key, what string) *messages.Error {
	e := messages.Invalid("keys", fmt.Sprintf("%q %s", shown(key), what))
	e.Hint = terminalKeys
	if m.Pipe {
		e.Hint = pipeKeys
	}
	return e
}

// shown returns a name as valid text for an error.
func shown(name string) string {
	if len(name) > labelLength {
		name = name[:labelLength] + "…"
	}
	return strings.ToValidUTF8(name, "�")
}

// modifiers is the set of modifiers of a key, with the bits that terminals send.
type modifiers uint8

const (
	withShift modifiers = 1 << iota
	withAlt
	withCtrl
	withSuper
	withHyper
	withMeta
)

// keyPress is one key with its modifiers: key, or a character if key is nil. Letters
// are lower case; without ctrl, a capital is its letter with shift.
type keyPress struct {
	key  *key
	char rune
	mods modifiers
}

// modifierNames returns the names allowed before '+' or '-'. {meta+x} is alt, as in
// <M-x>.
func modifierNames() map[string]modifiers {
	return map[string]modifiers{
		"c": withCtrl, "ctrl": withCtrl, "control": withCtrl, "s": withShift, "shift": withShift,
		"m": withAlt, "a": withAlt, "alt": withAlt, "meta": withAlt, "option": withAlt,
		"d": withSuper, "super": withSuper, "cmd": withSuper, "hyper": withHyper,
	}
}

// parseStroke parses the text between the brackets.
func parseStroke(name string) (s keyPress, ok bool) {
	known := modifierNames()
	for {
		i := strings.IndexAny(name, "+-")
		if i <= 0 || i == len(name)-1 {
			break
		}
		mod, is := known[strings.ToLower(name[:i])]
		if !is {
			break
		}
		s.mods |= mod
		name = name[i+1:]
	}
	if k, is := keyNamed(strings.ToLower(name)); is {
		if k.char != 0 {
			s.char = k.char
			return s, true
		}
		s.key = k
		return s, true
	}
	char, size := utf8.DecodeRuneInString(name)
	if s.mods == 0 || size != len(name) || char < ' ' || char == 0x7f || char == utf8.RuneError {
		return s, false // a character alone is written without brackets
	}
	s.char = char
	return upperIsShift(s), true
}
