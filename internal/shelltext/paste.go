package shelltext

import (
	"strings"

	"troupe/messages"
)

// Modes returns the key mode of a terminal whose program has set k.
func Modes(k messages.KeyModes) KeyMode {
	return KeyMode{AppCursor: k.Cursor, AppKeypad: k.Keypad, Kitty: Kitty(k.Kitty) & (Disambiguate | EventTypes | AlternateKeys | AllKeys | AssociatedText)}
}

// Brackets around pasted text (bracketed paste).
const (
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"
)

// Paste returns the bytes of a text pasted into a terminal; its lines end with CR. In
// brackets a program takes all of it for text, so closing brackets within the text are
// removed.
func Paste(text string, brackets bool) []byte {
	text = strings.NewReplacer("\r\n", "\r", "\n", "\r").Replace(text)
	if !brackets {
		return []byte(text)
	}
	for strings.Contains(text, pasteEnds) { // a removal may form another one
		text = strings.ReplaceAll(text, pasteEnds, "")
	}
	return []byte(pasteBegins + text + pasteEnds)
}
