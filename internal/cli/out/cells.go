package out

import (
	"strings"

	"troupe/spill/view"
)

// Cells returns the width of a text on a terminal, in columns. The text must have no control
// characters.
func Cells(s string) int {
	n := 0
	for _, r := range s {
		n += view.Columns(r)
	}
	return n
}

// Shorten cuts a text to a number of columns; the last of them is an ellipsis.
func Shorten(s string, most int) string {
	if len(s) <= most || Cells(s) <= most {
		return s
	}
	var b strings.Builder
	n := 0
	for _, r := range s {
		if n += view.Columns(r); n >= most {
			break
		}
		b.WriteRune(r)
	}
	return b.String() + "…"
}
