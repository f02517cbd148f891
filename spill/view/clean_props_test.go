package view

import (
	"strings"
	"testing"

	"pgregory.net/rapid"
)

// bits are what the output of programs on terminals is made of.
var bits = []string{
	"text", " ", "\t", "\n", "\r\n", "\r", "\r\r\n", "é", "漢", "👩\u200d🚀", "\xe2\x82", "\xff", "\u202e", "\x00", "\a", "\b", "\x7f", "\x9b", "\x1b",
	"\x1b[31m", "\x1b[0m", "\x1b[38;5;1m", "\x1b[2K", "\x1b[10;20H", "\x1b[?25l", "\x1b[6n", "\x1b[3\n1m", "\x1b(B", "\x1b7", "\x1b]0;title\a", "\x1b]8;;http://x\x1b\\",
	"\x1b]52;c;aGk=\a", "\x1bP1$r0m\x1b\\", "\x1b_G\x1b\\", "\x18", "\x1b[", "\x1b]", "\x1bP", "100%", "[####    ]",
}

// The text is the same however the bytes arrive: one by one, in any pieces, at once.
func TestSecurityCleanerInAnyPieces(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		all := strings.Join(rapid.SliceOfN(rapid.SampledFrom(bits), 0, 40).Draw(t, "output"), "")
		colours := rapid.Bool().Draw(t, "colours")
		whole := clean(Cleaner{Colours: colours}, all)
		var pieces []string
		for rest := all; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 9)).Draw(t, "piece")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if got := clean(Cleaner{Colours: colours}, pieces...); got != whole {
			t.Fatalf("%q in the pieces %q becomes %q, whole %q", all, pieces, got, whole)
		}
	})
}

// What a sequence that never ends holds back is little.
func TestSecurityCleanerKeepsLittle(t *testing.T) {
	for _, in := range []string{"\x1b[\n", "\x1b[1;", "\x1b]0;x", "\x1bPx", "\x1b(\n", "\x1b[\x1b[\n\n", "\xe2\x82", "\r"} {
		var c Cleaner
		p := []byte(in[:len(in)-1] + strings.Repeat(in[len(in)-1:], 1<<20))
		c.Append(nil, p)
		if kept := cap(c.seq) + cap(c.part); kept > 4<<10 {
			t.Errorf("%q and so on: %d bytes are kept", in, kept)
		}
	}
}
