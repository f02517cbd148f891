package view

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func clean(c Cleaner, pieces ...string) string {
	var out []byte
	for _, p := range pieces {
		out = c.Append(out, []byte(p))
	}
	return string(c.End(out))
}

// What a person or a model is shown has no control sequences of a terminal.
func TestSecurityCleaner(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\n":                      "plain\ttext\n",
		"\x1b[1;31mred\x1b[0m":               "red",
		"a\x1b]0;title\x07b":                 "ab",
		"a\x1b]52;c;aGVsbG8=\x1b\\b":         "ab", // the clipboard
		"a\x1b]8;;http://x\x1b\\link":        "alink",
		"a\x1bP1$r0m\x1b\\b":                 "ab",
		"a\x1b_kitty\x1b\\b":                 "ab",
		"a\x1b[6nb\x1b[cb\x1b[18tb":          "abbb", // questions to the terminal
		"a\x1b(Bb\x1b=c\x1b7d":               "abcd",
		"one\r\ntwo\rthree\r":                "one\ntwo\nthree\n",
		"a\r\r\nb":                           "a\nb",
		"a\bb\x00c\x7fd\x07":                 "abcd",
		"a\u0085b\u009bc":                    "abc",
		"a\ufffab":                           "ab",
		"a\u202eb":                           `a\u202eb`,
		"a\xffb\xc3":                         "a\uFFFDb\uFFFD",
		"\xc3\x1b[31mx":                      "\uFFFDx", // no rune swallows an escape
		"a\x1b[31\xc3\xa9b":                  "aéb",     // nor an escape a rune
		"a\x1b[3\n1mb":                       "a\nb",
		"a\x1b":                              "a",
		"a\x1b[31":                           "a",
		"héllo, wörld €":                     "héllo, wörld €",
		"👩‍🚀":                                "👩‍🚀",
		"a\x1b]" + strings.Repeat("x", 9000): "a" + strings.Repeat("x", 9000-MaxString),
	} {
		if got := clean(Cleaner{}, in); got != want {
			t.Errorf("%.60q becomes %.60q, want %.60q", in, got, want)
		}
	}
}

func TestSecurityCleanerLeavesColoursIn(t *testing.T) {
	long := "\x1b[" + strings.Repeat("1;", 64) + "mx"
	for in, want := range map[string]string{
		long: "x",

		"\x1b[1;31mred\x1b[0m":    "\x1b[1;31mred\x1b[0m",
		"\x1b[mx":                 "\x1b[mx",
		"\x1b[38:2:1:2:3mx\x1b[m": "\x1b[38:2:1:2:3mx\x1b[m",
		"\x1b[31mcut":             "\x1b[31mcut\x1b[0m",
		"\x1b[>4;2mx\x1b[?1m":     "x",
		"\x1b[31 mx":              "x",
		"\x1b[31m\x1b[2Jx\x1b[0m": "\x1b[31mx\x1b[0m",
		"\x1b[3\x071mx":           "x",
	} {
		if got := clean(Cleaner{Colours: true}, in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// FuzzCleaner: the text is safe, and the same however the bytes arrive.
func FuzzCleaner(f *testing.F) {
	for _, s := range []string{
		"a\x1b]0;t\x07b", "\x1b[31mred\r\n", "\xe2\x82\xac\xf0\x9f", "\x1bP\x1b\\\x1b_x\x18y", "a\r\rb\u202e", "\x1b\x1b[0m", "\xf0\x80\x1b[\xc3m",
	} {
		f.Add([]byte(s), uint8(1), true)
	}
	f.Fuzz(func(t *testing.T, p []byte, step uint8, colours bool) {
		whole := clean(Cleaner{Colours: colours}, string(p))
		var pieces []string
		for i, n := 0, int(step%7)+1; i < len(p); i += n {
			pieces = append(pieces, string(p[i:min(len(p), i+n)]))
		}
		if got := clean(Cleaner{Colours: colours}, pieces...); got != whole {
			t.Fatalf("%q in pieces of %d becomes %q, whole %q", p, step%7+1, got, whole)
		}
		safe(t, whole, colours)
	})
}

// safe fails if a text can do more to a terminal than colour it.
func safe(t interface {
	Helper()
	Fatalf(format string, args ...any)
}, s string, colours bool,
) {
	t.Helper()
	if !utf8.ValidString(s) {
		t.Fatalf("%q is not UTF-8", s)
	}
	rest := s
	for colours {
		i := strings.Index(rest, "\x1b[")
		if i < 0 {
			break
		}
		n := strings.IndexByte(rest[i:], 'm')
		if n < 0 || strings.Trim(rest[i+2:i+n], "0123456789;:") != "" {
			t.Fatalf("%q holds a sequence that is no colour", s)
		}
		rest = rest[:i] + rest[i+n+1:]
	}
	for _, r := range rest {
		if r < 0x20 && r != '\n' && r != '\t' || r >= 0x7f && r <= 0x9f || bidi(r) {
			t.Fatalf("%q holds %U", s, r)
		}
	}
}
