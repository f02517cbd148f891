package main

import (
	"fmt"
	"strings"

	"troupe/messages"
)

// pipeKeyNames are the keys that mean bytes to a program that reads a pipe. It
// knows no arrows: those are a terminal's.
var pipeKeyNames = map[string]string{
	"enter": "\n", "cr": "\n", "return": "\n", "tab": "\t", "esc": "\x1b", "escape": "\x1b", "space": " ", "backspace": "\x7f", "bs": "\x7f",
	"lt": "<", "lbrace": "{",
}

// pipeKeys are the bytes of keys as they are typed into a pipe: text stands for
// itself, {name} and <name> for a key, <C-c> or {C-c} for a control character.
func pipeKeys(text string) ([]byte, error) {
	var b strings.Builder
	for text != "" {
		i := strings.IndexAny(text, "{<")
		if i < 0 {
			b.WriteString(text)
			break
		}
		b.WriteString(text[:i])
		end := strings.IndexByte(text[i:], map[byte]byte{'{': '}', '<': '>'}[text[i]])
		if end < 0 {
			return nil, badKey(text[i:], "has no end")
		}
		name := text[i+1 : i+end]
		key, err := pipeKey(name)
		if err != nil {
			return nil, err
		}
		b.WriteString(key)
		text = text[i+end+1:]
	}
	return []byte(b.String()), nil
}

func pipeKey(name string) (string, error) {
	lower := strings.ToLower(name)
	if key, ok := pipeKeyNames[lower]; ok {
		return key, nil
	}
	for _, prefix := range []string{"c-", "ctrl-", "ctrl+"} {
		letter, ok := strings.CutPrefix(lower, prefix)
		if ok && len(letter) == 1 && letter[0] >= '@' && letter[0] < 0x7f {
			return string(rune(letter[0] & 0x1f)), nil
		}
	}
	switch lower {
	case "up", "down", "left", "right", "home", "end", "pageup", "pagedown", "insert", "delete":
		return "", unsupported("keys", fmt.Sprintf("the key %q means nothing to a job that reads a pipe", name), needsTerminals)
	}
	return "", badKey(name, "is no key")
}

func badKey(key, what string) *messages.Error {
	e := messages.Invalid("keys", fmt.Sprintf("%q %s", key, what))
	e.Hint = "use {enter} {tab} {esc} {space} {backspace} <C-c>; {lbrace} and <lt> are { and <"
	return e
}
