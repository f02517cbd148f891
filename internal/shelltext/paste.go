package shelltext

import (
	"strings"

	"troupe/messages"
)

// Modes are those of a terminal whose program has told it what keys are to send.
func Modes(k messages.KeyModes) KeyMode {
	return KeyMode{AppCursor: k.Cursor, AppKeypad: k.Keypad, Kitty: Kitty(k.Kitty) & (Disambiguate | EventTypes | AlternateKeys | AllKeys | AssociatedText)}
}

// What stands around a text that is pasted, where the program has asked for it.
const (
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"
)

// Paste gives the bytes of a text as they are pasted into a terminal: its lines end with
// CR. In brackets a program takes them for text, whatever they are; what would end the
// brackets early is left out of it.
func Paste(text string, brackets bool) []byte {
	text = strings.NewReplacer("\r\n", "\r", "\n", "\r").Replace(text)
	if !brackets {
		return []byte(text)
	}
	for strings.Contains(text, pasteEnds) { // what is left may be one, too
		text = strings.ReplaceAll(text, pasteEnds, "")
	}
	return []byte(pasteBegins + text + pasteEnds)
}
