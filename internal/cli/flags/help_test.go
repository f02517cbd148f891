package flags

import (
	"strings"
	"testing"
)

// A paragraph is folded anew, and what is indented stays.
func TestTextsAreFolded(t *testing.T) {
	word := strings.Repeat("w", 39)
	for _, c := range []struct{ text, want string }{
		{"", ""},
		{"one\ntwo", "one two"},
		{word + " " + word + " x", word + " " + word + "\nx"},
		{word + "\n" + word + "y\nz", word + " " + word + "y\nz"},
		{"Exit:\n  0  good\n  1  bad\nand\nmore\n\nnext", "Exit:\n  0  good\n  1  bad\nand more\n\nnext"},
		{strings.Repeat("l", 90) + " x", strings.Repeat("l", 90) + "\nx"},
	} {
		if got := folded(c.text); got != c.want {
			t.Errorf("%q: got %q, want %q", c.text, got, c.want)
		}
	}
}
