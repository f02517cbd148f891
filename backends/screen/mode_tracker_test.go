package screen

import (
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"
)

// undone is what takes back what a terminal of 24 rows was shown, in pieces.
func undone(text string, size int) string {
	var c ModeTracker
	for b := range slices.Chunk([]byte(text), size) {
		c.Write(b)
	}
	return c.Now().Undo(24)
}

// Only what is on is taken back, whole and in an order that works, however the output is cut.
func TestChangesAreTakenBack(t *testing.T) {
	for text, want := range map[string]string{
		"":                                           "",
		"text\r\nas it is\x1b[2J\x1b[H\a字":           "",
		"\x1b[?1000h\x1b[?1006h":                     "\x1b[?1000;1006l",
		"\x1b[?1000;1002;1003;1005;1006;1015h":       "\x1b[?1000;1002;1003;1005;1006;1015l",
		"\x1b[?1002;1006h\x1b[?1002;1006l":           "",
		"\x1b[?2004h\x1b[?1004h\x1b[?2004l":          "\x1b[?1004l",
		"\x1b[?1h\x1b=":                              "\x1b[?1l\x1b>",
		"\x1b[?66h":                                  "\x1b>",
		"\x1b[?25l\x1b[?7l":                          "\x1b[?7;25h",
		"\x1b[?25l\x1b[?25h":                         "",
		"\x1b[?1049h\x1b[?25l":                       "\x1b[?1049l\x1b[?25h",
		"\x1b[?47h":                                  "\x1b[?47l",
		"\x1b[?1048;1047h":                           "\x1b[?1047l\x1b[?1048l",
		"\x1b[?1049h\x1b[?1049l":                     "",
		"\x1b[>1u\x1b[>5u":                           "\x1b[<2u",
		"\x1b[>1u\x1b[=5u\x1b[<u":                    "",
		"\x1b[=5u":                                   "\x1b[=0u",
		"\x1b[>1u\x1b[?1049h\x1b[>3u":                "\x1b[<1u\x1b[?1049l\x1b[<1u",
		"\x1b[>4;2m":                                 "\x1b[>4m",
		"\x1b[>4;2m\x1b[>4m":                         "",
		"\x1b[1;24r":                                 "",
		"\x1b[3;20r":                                 "\x1b7\x1b[r\x1b8",
		"\x1b[3;20r\x1b[r":                           "",
		"\x1b[3r\x1b[?6h":                            "\x1b[?6l\x1b[9999;1H\x1b7\x1b[r\x1b8",
		"\x1b[4h\x1b[20h\x1b(0\x0e":                  "\x1b[4l\x1b[20l\x1b(B\x0f",
		"\x1b(0lqk\x1b(B":                            "",
		"\x1b[2 q":                                   "\x1b[0 q",
		"\x1b[2 q\x1b[ q":                            "",
		"\x1b[31mred":                                "\x1b[0m",
		"\x1b[1;38;5;0mred\x1b[22m":                  "\x1b[0m",
		"\x1b[38;2;0;0;0m":                           "\x1b[0m",
		"\x1b[38:2::0:0:0m":                          "\x1b[0m",
		"\x1b[38;5;1;48;5;0m\x1b[39m":                "\x1b[0m",
		"\x1b[4:3m\x1b[4:0m":                         "",
		"\x1b[1;3;4;7;31;42m\x1b[22;23;24;27;39;49m": "",
		"\x1b[31mred\x1b[m":                          "",
		"\x1b[7mbar\x1b[0;1m":                        "\x1b[0m",
		"\x1b]12;red\a\x1b]11;#000000\x1b\\":         "\x1b]111\x1b\\\x1b]112\x1b\\",
		"\x1b]4;1;red\a\x1b]104\a":                   "",
		"\x1b]10;?\a\x1b]4;1;?\a\x1b[6n":             "",
		"\x1b[?1000h\x1b[?25l\x1b[1m\x1bc":           "",
		"\x1b[?25l\x1b[1m\x1b[?1000h\x1b[!p":         "\x1b[?1000l",
		"\x1b[?1000":                                 "\x18",
		"\x1b[?2004h\x1b]0;tit":                      "\x18\x1b[?2004l",
		"\x1b[1000h\x1b[>1000h\x1b[?1000$p":          "",
	} {
		for size := 1; size <= max(1, len(text)); size++ {
			require.Equal(t, want, undone(text, size), "%q by %d", text, size)
		}
	}
}

// Whoever is cut off within what he shows takes back all that is changed at any moment of it.
func TestChangesWithinAWrite(t *testing.T) {
	var c ModeTracker
	within := c.Write([]byte("\x1b[?1049h\x1b[?25l\x1b[3;9rx\x1b[r\x1b[?25h\x1b[?1049l"))
	require.Equal(t, "\x18\x1b[?1049l\x1b7\x1b[r\x1b8\x1b[?25h", within.Undo(24))
	require.Zero(t, c.Now())
	within = c.Write([]byte("\x1b[>1u\x1b[<u\x1bc"))
	require.Equal(t, "\x18\x1b[<1u", within.Undo(24))
	require.Zero(t, c.Write([]byte("text")))
}

// What takes changes back leaves none, whatever they were.
func TestChangesEnd(t *testing.T) {
	pieces := []string{"\x1b[?", "\x1b[", "\x1b[>", "\x1b[=", "\x1b]", "\x1b(", "\x1b", "1049", "47", "1000", "25", "7", "6", "4", "12", "38", ";", ":", "5", "h", "l", "m", "u", "r", " q", "=", "0", "\x0e", "\a", "x", "\x1b\\", "!p", "s"}
	rapid.Check(t, func(t *rapid.T) {
		var c ModeTracker
		c.Write([]byte(strings.Join(rapid.SliceOfN(rapid.SampledFrom(pieces), 0, 60).Draw(t, "text"), "")))
		back := c.Now().Undo(24)
		c.Write([]byte(back))
		if left := c.Now().Undo(24); left != "" {
			t.Fatalf("%q leaves %q", back, left)
		}
	})
}
