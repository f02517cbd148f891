package top

import (
	"strings"
	"unicode"
	"unicode/utf8"

	tea "charm.land/bubbletea/v2"

	"troupe/internal/cli/out"
)

// field is a line that is typed. The cursor is always at its end.
type field struct{ text string }

// maxField bounds a typed line, in bytes.
const maxField = 64 << 10

// press edits the line and reports whether the key edits.
func (f *field) press(k tea.KeyPressMsg) bool {
	switch k.String() {
	case "backspace", "ctrl+h":
		_, size := utf8.DecodeLastRuneInString(f.text)
		f.text = f.text[:len(f.text)-size]
	case "ctrl+u":
		f.text = ""
	case "ctrl+w":
		f.text = strings.TrimRight(f.text, " ")
		f.text = f.text[:strings.LastIndexByte(f.text, ' ')+1]
	default:
		if k.Text == "" {
			return false
		}
		f.paste(k.Text)
	}
	return true
}

// paste appends a text, as one line.
func (f *field) paste(text string) {
	text = strings.Map(func(r rune) rune {
		if r == '\t' || !unicode.IsControl(r) {
			return r
		}
		return -1
	}, text)
	if len(f.text)+len(text) <= maxField {
		f.text += text
	}
}

// shown returns the end of the line that fits into width columns.
func (f *field) shown(width int, secret bool) string {
	text := out.Clean(f.text)
	if secret {
		text = strings.Repeat("*", utf8.RuneCountInString(f.text))
	}
	for out.Cells(text) > max(width, 1) {
		_, size := utf8.DecodeRuneInString(text)
		text = text[size:]
	}
	return text
}
