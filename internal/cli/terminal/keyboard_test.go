package terminal

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// What is typed becomes lines, and the detach keys are seen wherever they stand.
func TestTypedLines(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ typed, sent, shown string }{
		{"ab\r", "ab\n", "ab\r\n"},
		{"ab\x7fc\n", "ac\n", "ab\b \bc\r\n"},
		{"é\x7f\x7fx\r", "x\n", "é\b \bx\r\n"},
		{"abc\x15d\r", "d\n", "abc\b \b\b \b\b \bd\r\n"},
		{"a\x04", "a", "a"},
		{"\x04", "<end>", ""},
		{"ab\x03c\r", "<int>c\n", "ab^C\r\nc\r\n"},
		{"\x10\x11", "<leave>", ""},
		{"a\x10b\r", "a\x10b\n", "a^Pb\r\n"},
		{"\x10\x10\x11", "<leave>", "^P"},
		{"a\tb\r", "a\tb\n", "a\tb\r\n"},
	} {
		var sent, shown strings.Builder
		k := LineEditor{Leave: []byte{0x10, 0x11}, Echo: func(s string) { shown.WriteString(s) }}
		for _, b := range []byte(c.typed) { // byte by byte, as they come
			for _, act := range k.Take([]byte{b}) {
				switch {
				case act.Interrupt:
					sent.WriteString("<int>")
				case act.End:
					sent.WriteString("<end>")
				case act.Leave:
					sent.WriteString("<leave>")
				default:
					sent.Write(act.Bytes)
				}
			}
		}
		require.Equal(t, c.sent, sent.String(), "%q", c.typed)
		require.Equal(t, c.shown, shown.String(), "%q", c.typed)
	}
}
