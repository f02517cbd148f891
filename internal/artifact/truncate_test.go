package artifact

import (
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func TestR088_CutsAreAtLines(t *testing.T) {
	is(t, "lines", CutLimits.Lines, 3000)
	is(t, "bytes", CutLimits.Bytes, 51_200)
	for _, c := range []struct {
		what  string
		text  string
		l     Limits
		want  string
		lines int64
		by    string
		part  bool
	}{
		{"whole", "a\nb", Limits{2, 3}, "a\nb", 2, "", false},
		{"tail by lines", "a\nb\nc", Limits{2, 0}, "b\nc", 2, ByLines, false},
		{"tail by bytes", "aa\nbb\ncc", Limits{0, 5}, "bb\ncc", 2, ByBytes, false},
		{"tail, no part of a line", "aa\nbbbb\ncc", Limits{9, 5}, "cc", 1, ByBytes, false},
		{"tail, last line too long", "a\nbbb€bb", Limits{9, 4}, "bb", 1, ByBytes, true},
		{"tail, behind it a newline", "a\nbbbbbb\n", Limits{9, 4}, "bbb\n", 2, ByBytes, true},
	} {
		got := TailOf(c.text, c.l)
		if got.Text != c.want || got.OutputLines != c.lines || got.By != c.by || got.Truncated != (c.by != "") ||
			got.LastLinePartial != c.part ||
			got.OutputBytes != int64(len(c.want)) || got.TotalBytes != int64(len(c.text)) {
			t.Errorf("%s: %+v", c.what, got)
		}
	}
	rapid.Check(t, func(t *rapid.T) {
		s := anyText(t, 20)
		l := Limits{Lines: rapid.Int64Range(0, 5).Draw(t, "lines"), Bytes: rapid.Int64Range(0, 40).Draw(t, "bytes")}
		lines := strings.Split(s, "\n")
		fits := func(lines []string) bool {
			return !l.Exceeded(int64(len(strings.Join(lines, "\n"))), int64(len(lines)))
		}
		n := len(lines)
		for n > 0 && !fits(lines[len(lines)-n:]) {
			n--
		}
		want := strings.Join(lines[len(lines)-n:], "\n")
		got := TailOf(s, l)
		if got.LastLinePartial {
			if want != "" || len(got.Text) > int(l.Bytes) || !strings.HasSuffix(s, got.Text) {
				t.Fatalf("the tail of %q within %+v is %+v", s, l, got)
			}
		} else if got.Text != want || got.OutputLines != int64(n) {
			t.Fatalf("the tail of %q within %+v is %+v, want %q", s, l, got, want)
		}
	})
}

func TestR165_AtTheLimitsAnOutputIsWhole(t *testing.T) {
	for _, c := range []struct {
		size, lines int64
		over        bool
	}{{51_200, 2000, false}, {51_201, 1, true}, {1, 2001, true}, {0, 0, false}} {
		is(t, "over", KeepLimits.Exceeded(c.size, c.lines), c.over)
	}
}

func TestR169_NumbersHaveThousandsSeparators(t *testing.T) {
	for n, want := range map[int64]string{
		0: "0", 7: "7", 999: "999", 1000: "1,000", 8432: "8,432", 1_000_007: "1,000,007", -12345: "-12,345", -123: "-123",
		-1 << 63: "-9,223,372,036,854,775,808",
	} {
		is(t, "number", Thousands(n), want)
	}
}

func TestR263_AMessageIsCutAtALine(t *testing.T) {
	is(t, "limit", NoteBytes, 51_200)
	for _, c := range []struct {
		text string
		n    int
		want string
		cut  bool
	}{
		{"a\nb", 3, "a\nb", false},
		{"aa\nbb", 4, "aa\n", true},
		{"aa\nbb\n", 3, "aa\n", true},
		{"€€", 4, "€", true},
		{"€", 0, "", true},
		{"", 0, "", false},
	} {
		got, cut := CutAtLine(c.text, c.n)
		if got != c.want || cut != c.cut {
			t.Errorf("%q within %d: %q, %v", c.text, c.n, got, cut)
		}
	}
}

func TestRunesAreNotCut(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, n := text([]byte(anyText(t, 20))), rapid.IntRange(-1, 30).Draw(t, "n")
		a, b := first(s, n), last(s, n)
		if !utf8.ValidString(a) || !utf8.ValidString(b) || len(a) > max(0, n) || len(b) > max(0, n) ||
			!strings.HasPrefix(s, a) || !strings.HasSuffix(s, b) {
			t.Fatalf("%d bytes of %q are %q and %q", n, s, a, b)
		}
		runes := []rune(s)
		k := min(max(0, n), len(runes))
		if firstRunes(s, max(0, n)) != string(runes[:k]) || lastRunes(s, n) != string(runes[len(runes)-k:]) {
			t.Fatalf("%d runes of %q are %q and %q", n, s, firstRunes(s, n), lastRunes(s, n))
		}
		raw := []byte(anyText(t, 20))
		if textLen(raw) != len(text(raw)) {
			t.Fatalf("%q is %d bytes of text, said to be %d", raw, len(text(raw)), textLen(raw))
		}
	})
}
