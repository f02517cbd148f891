package terminal

import (
	"bytes"
	"fmt"
	"strings"

	"troupe/internal/shelltext"
	"troupe/messages"
)

// DetachScanner finds the detach keys in typed input, in any key encoding: a program may have
// enabled kitty's keyboard protocol or xterm's modifyOtherKeys. A possible beginning of the
// keys waits for the next key. Pasted text is ignored.
type DetachScanner struct {
	Keys    []byte   // empty: no detach keys
	matched int      // bytes of Keys typed so far
	pending [][]byte // the matched keys as the terminal sent them
	partial []byte   // an unfinished key sequence
	last    []byte   // the last bytes typed, to find the marks of a paste
	paste   bool     // inside a paste
}

const (
	pasteBegins = "\x1b[200~"
	pasteEnds   = "\x1b[201~"

	// maxTyped bounds the length of a key sequence, in bytes.
	maxTyped = 64
)

// Filter returns the input to forward, and whether the detach keys are complete. It discards
// input after them.
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

// key handles one key and appends to pass the keys to forward. A key that may belong to the
// detach keys waits.
func (l *DetachScanner) key(pass, key []byte) []byte {
	means := key
	if len(key) > 1 {
		means = shelltext.TranslateKey(key, shelltext.KeyMode{})
	}
	if l.matched > 0 && (len(means) == 0 || isModifier(key)) {
		l.pending = append(l.pending, bytes.Clone(key)) // a key release or a modifier alone: the next key decides
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
	again := append(l.pending[1:], key) // the detach keys may begin later in the pending keys
	pass = append(pass, l.pending[0]...)
	l.matched, l.pending = 0, nil
	for _, key := range again {
		pass = l.key(pass, key)
	}
	return pass
}

// pass forwards the pending keys and then key.
func (l *DetachScanner) pass(pass, key []byte) []byte {
	for _, key := range l.pending {
		pass = append(pass, key...)
	}
	l.matched, l.pending = 0, nil
	return append(pass, key...)
}

// pasted reports whether a key belongs to a paste or its marks.
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

// keyLength returns the length of the first key: a byte or a sequence, longer than typed if
// it is incomplete. Escape, alone or before [, counts as a typed key.
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

// isModifier reports whether key is a modifier alone, which kitty's keyboard protocol sends.
func isModifier(key []byte) bool {
	code := 0
	_, err := fmt.Sscanf(string(key), "\x1b[%d", &code)
	return err == nil && key[len(key)-1] == 'u' && (code >= 57441 && code <= 57454 || code >= 57358 && code <= 57360)
}

// ParseKeys parses detach keys such as "ctrl-p,ctrl-q" into bytes.
func ParseKeys(text string) ([]byte, error) {
	var keys []byte
	for _, name := range strings.Split(text, ",") {
		key := []byte(name)
		if len(name) > 1 {
			var err error
			if key, err = shelltext.EncodeKey(name, shelltext.KeyMode{Pipe: true}); err != nil {
				return nil, messages.Invalid("detach_keys", fmt.Sprintf("invalid key %q: use letters and ctrl-LETTER, separated by commas", name))
			}
		}
		if len(key) == 0 {
			return nil, messages.Invalid("detach_keys", "--detach-keys has an empty key; use keys such as "+DetachKeys)
		}
		keys = append(keys, key...)
	}
	return keys, nil
}

// DetachKeys names the default detach keys, those of docker.
const DetachKeys = "ctrl-p,ctrl-q"
