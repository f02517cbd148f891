package main

import (
	"fmt"
	"strings"

	"troupe/messages"
	"troupe/shell"
)

// leaver looks for the detach keys in what is typed. What may be their beginning waits
// for the next key.
type leaver struct {
	keys  []byte // none: nothing leaves
	begun int    // how many of them were typed
}

// take gives what is to be passed on of what was typed, and says whether the keys were
// all there: what is behind them is for nobody.
func (l *leaver) take(typed []byte) (pass []byte, left bool) {
	if len(l.keys) == 0 {
		return typed, false
	}
	for _, b := range typed {
		if b == l.keys[l.begun] {
			if l.begun++; l.begun == len(l.keys) {
				return pass, true
			}
			continue
		}
		pass = append(pass, l.keys[:l.begun]...)
		if l.begun = 0; b == l.keys[0] {
			l.begun = 1
			continue
		}
		pass = append(pass, b)
	}
	return pass, false
}

// controlKeys are the characters of "ctrl-p,ctrl-q".
func controlKeys(text string) ([]byte, error) {
	var keys []byte
	for _, name := range strings.Split(text, ",") {
		key := []byte(name)
		if len(name) > 1 {
			var err error
			if key, err = shell.EncodeKey(name, shell.KeyMode{Pipe: true}); err != nil {
				return nil, messages.Invalid("detach_keys", fmt.Sprintf("%q is no key; write letters and ctrl-LETTER, with commas between", name))
			}
		}
		if len(key) == 0 {
			return nil, messages.Invalid("detach_keys", "--detach-keys has an empty key; write them like "+detachKeys)
		}
		keys = append(keys, key...)
	}
	return keys, nil
}
