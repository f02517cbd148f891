package view

import "unicode"

// Columns returns the width of a printable rune on a terminal. The tables of a library
// are more exact, but add 40 ms to each start.
func Columns(r rune) int {
	switch {
	case r < 0x300: // most text
		return 1
	case unicode.In(r, unicode.Mn, unicode.Me, unicode.Cf):
		return 0
	case unicode.In(r, unicode.Han, unicode.Hangul, unicode.Hiragana, unicode.Katakana),
		r >= 0x3000 && r <= 0x303e, r >= 0xff01 && r <= 0xff60, r >= 0xffe0 && r <= 0xffe6, r >= 0x1f300 && r <= 0x1faff:
		return 2
	}
	return 1
}
