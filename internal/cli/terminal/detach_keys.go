package terminal

import (
	"bytes"
	"fmt"
	"strings"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// DetachScanner looks for the detach keys in what is typed, however the terminal sends them: a
// program may have asked for sequences (kitty's keyboard, xterm's modifyOtherKeys). What may
// be their beginning waits for the next key. What is pasted is no key.
type DetachScanner struct {
	Keys    []byte   // none: nothing leaves
	matched int      // how many of them were typed
	pending [][]byte // … as they were sent
	partial []byte   // a sequence that has no end yet
	last    []byte   // what was typed last, in which a paste begins and ends
	paste   bool     // it has begun
}

const (
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"

	// maxTyped is the longest sequence of a key that is looked at.
	maxTyped = 64
)

// Filter gives what is to be passed on of what was typed, and says whether the keys were
// all there: what is behind them is for nobody.
func (l *DetachScanner) Filter(typed []byte) (pass []byte, left bool) {
	if len(l.Keys) == 0 {
		return typed, false
	}
	typed = append(l.partial, typed...)
	l.partial = nil
	for len(typed) > 0 {
		n := 1
		if !l.paste {
			n = keyLength(typed)
		}
		if n > len(typed) {
			l.partial = bytes.Clone(typed)
			return pass, false
		}
		key := typed[:n]
		typed = typed[n:]
		if l.pasted(key) {
			pass = l.pass(pass, key)
			continue
		}
		if pass = l.key(pass, key); l.matched == len(l.Keys) {
			return pass, true
		}
	}
	return pass, false
}

// key takes one key, which waits if it may be one of those that leave.
func (l *DetachScanner) key(pass, key []byte) []byte {
	means := key
	if len(key) > 1 {
		means = shelltext.TranslateKey(key, shelltext.KeyMode{})
	}
	if l.matched > 0 && (len(means) == 0 || isModifier(key)) {
		l.pending = append(l.pending, bytes.Clone(key)) // it goes up again, or Ctrl goes down: the next one counts
		return pass
	}
	if len(means) > 0 && bytes.HasPrefix(l.Keys[l.matched:], means) {
		l.matched += len(means)
		l.pending = append(l.pending, bytes.Clone(key))
		return pass
	}
	if l.matched == 0 {
		return append(pass, key...)
	}
	again := append(l.pending[1:], key) // those behind the first may be the beginning of them still
	pass = append(pass, l.pending[0]...)
	l.matched, l.pending = 0, nil
	for _, key := range again {
		pass = l.key(pass, key)
	}
	return pass
}

// pass passes on what has waited, and a key.
func (l *DetachScanner) pass(pass, key []byte) []byte {
	for _, held := range l.pending {
		pass = append(pass, held...)
	}
	l.matched, l.pending = 0, nil
	return append(pass, key...)
}

// pasted reports whether a key belongs to a paste, with what begins and ends one.
func (l *DetachScanner) pasted(key []byte) bool {
	was := l.paste
	l.last = append(l.last, key...)
	l.last = l.last[max(0, len(l.last)-len(pasteEnds)):]
	switch string(l.last) {
	case pasteBegins:
		l.paste = true
	case pasteEnds:
		l.paste = false
	}
	return was || l.paste
}

// keyLength is how long the first key is: a byte, or a sequence, which may not all be
// there yet. Escape, alone or before [, is a key that somebody may have typed so.
func keyLength(typed []byte) int {
	if !bytes.HasPrefix(typed, []byte("\x1b[")) {
		return 1
	}
	for i := 2; i < min(len(typed), maxTyped); i++ {
		if b := typed[i]; b < ' ' || b > '?' {
			return i + 1
		}
	}
	if len(typed) == 2 || len(typed) >= maxTyped {
		return 1
	}
	return len(typed) + 1
}

// isModifier reports whether a key is Ctrl or another of its kind alone, which kitty's
// keyboard has codes for.
func isModifier(key []byte) bool {
	code := 0
	_, err := fmt.Sscanf(string(key), "\x1b[%d", &code)
	return err == nil && key[len(key)-1] == 'u' && (code >= 57441 && code <= 57454 || code >= 57358 && code <= 57360)
}

// ParseKeys are the characters of "ctrl-p,ctrl-q".
func ParseKeys(text string) ([]byte, error) {
	var keys []byte
	for _, name := range strings.Split(text, ",") {
		key := []byte(name)
		if len(name) > 1 {
			var err error
			if key, err = shelltext.EncodeKey(name, shelltext.KeyMode{Pipe: true}); err != nil {
				return nil, messages.Invalid("detach_keys", fmt.Sprintf("%q is no key; write letters and ctrl-LETTER, with commas between", name))
			}
		}
		if len(key) == 0 {
			return nil, messages.Invalid("detach_keys", "--detach-keys has an empty key; write them like "+DetachKeys)
		}
		keys = append(keys, key...)
	}
	return keys, nil
}

// DetachKeys are those that leave a job, as docker has them.
const DetachKeys = "ctrl-p,ctrl-q"
