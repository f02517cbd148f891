package shelltext_test

import (
	"strings"
	"testing"

	"troupe/internal/shelltext"
	"troupe/messages"
)

func TestPaste(t *testing.T) {
	for _, c := range []struct {
		text     string
		brackets bool
		want     string
	}{
		{"one\ntwo\r\nthree\rfour", false, "one\rtwo\rthree\rfour"},
		{"one\ntwo", true, "\x1b[200~one\rtwo\x1b[201~"},
		{"", true, "\x1b[200~\x1b[201~"},
		{"a\x1b[201~b", true, "\x1b[200~ab\x1b[201~"},
		{"a\x1b[20\x1b[201~1~b", true, "\x1b[200~ab\x1b[201~"},
		{"a\x1b[201~b{enter}<C-c>", false, "a\x1b[201~b{enter}<C-c>"},
	} {
		if got := string(shelltext.Paste(c.text, c.brackets)); got != c.want {
			t.Errorf("%q, %v: %q, want %q", c.text, c.brackets, got, c.want)
		}
	}
}

// However a text is made, it cannot leave the brackets.
func FuzzPaste(f *testing.F) {
	f.Add("a\x1b[20\x1b[201~1~b")
	f.Fuzz(func(t *testing.T, text string) {
		got := string(shelltext.Paste(text, true))
		if i := strings.Index(got, "\x1b[201~"); i != len(got)-len("\x1b[201~") {
			t.Errorf("%q: %q", text, got)
		}
	})
}

// What a program has told its terminal decides what keys are.
func TestModes(t *testing.T) {
	for _, c := range []struct {
		modes messages.KeyModes
		want  string
	}{
		{messages.KeyModes{}, "\x1b[A\r\x1b[1;5D"},
		{messages.KeyModes{Cursor: true}, "\x1bOA\r\x1b[1;5D"},
		{messages.KeyModes{Cursor: true, Keypad: true}, "\x1bOA\x1bOM\x1b[1;5D"},
		{messages.KeyModes{Kitty: 1 | 8}, "\x1b[A\x1b[57414u\x1b[1;5D"},
		{messages.KeyModes{Kitty: 1<<30 | 1<<8}, "\x1b[A\r\x1b[1;5D"},
	} {
		got, err := shelltext.EncodeKeys("{up}{kpenter}<C-Left>", shelltext.Modes(c.modes))
		if err != nil || string(got) != c.want {
			t.Errorf("%+v: %q (%v), want %q", c.modes, got, err, c.want)
		}
	}
}
