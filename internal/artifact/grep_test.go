package artifact

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"strings"
	"testing"

	"github.com/rivo/uniseg"
	"pgregory.net/rapid"
)

func part(t tester, r *Reader, n, from, limit int64) LinePart {
	t.Helper()
	p, err := r.Line(context.Background(), n, from, limit)
	return must(t, p, err)
}

func grep(t tester, r *Reader, what string, o GrepOptions) Matches {
	t.Helper()
	m, err := r.Grep(context.Background(), what, o)
	return must(t, m, err)
}

func TestR261_LinesByCharactersAndSearches(t *testing.T) {
	t.Run("lines", linesByCharacters)
	t.Run("searches", searches)
}

func linesByCharacters(t *testing.T) {
	is(t, "default", DefaultLineChars, 10_000)
	is(t, "largest", MaxLineChars, 100_000)
	family := "👨\u200d👩\u200d👧"
	r := reader("short\n" + strings.Repeat(family, 12_000) + "\r\nend\n")
	p := part(t, r, 1, 0, 0)
	is(t, "the first characters", p, LinePart{Number: 1, Length: 12_000, To: 10_000, Text: strings.Repeat(family, 10_000), More: true})
	p = part(t, r, 1, p.To, 0)
	is(t, "the rest", p, LinePart{Number: 1, Length: 12_000, From: 10_000, To: 12_000, Text: strings.Repeat(family, 2000)})
	is(t, "again", part(t, r, 1, 3, 1), LinePart{Number: 1, Length: 12_000, From: 3, To: 4, Text: family, More: true})
	is(t, "behind it", part(t, r, 1, 99_999, 1), LinePart{Number: 1, Length: 12_000, From: 12_000, To: 12_000})
	is(t, "another", part(t, r, 0, 1, 3), LinePart{Length: 5, From: 1, To: 4, Text: "hor", More: true})
	for _, n := range []int64{-1, 3, 99} {
		if _, err := r.Line(context.Background(), n, 0, 0); !errors.Is(err, ErrNoLine) {
			t.Errorf("line %d: %v", n, err)
		}
	}
	many := reader(strings.Repeat("x", 150_000))
	is(t, "never more than", part(t, many, 0, 0, 1<<40).To, 100_000)
	heavy := part(t, reader(strings.Repeat("e"+strings.Repeat("\u0301", 200), 20_000)), 0, 0, MaxLineChars)
	if len(heavy.Text) > maxLineBytes || !heavy.More || heavy.Length != 20_000 || heavy.To < 10_000 {
		t.Errorf("%d bytes of characters that are many bytes, to %d of %d", len(heavy.Text), heavy.To, heavy.Length)
	}
}

func searches(t *testing.T) {
	is(t, "matches", DefaultMatches, 50)
	is(t, "bytes", DefaultGrepBytes, 65_536)
	s := numbered(1000)
	m := grep(t, reader(s), "line 99", GrepOptions{Before: 1, After: 1})
	is(t, "blocks", len(m.Blocks), 2) // 99, and 990 to 999
	is(t, "found", m.Found, 11)
	is(t, "the first", strings.Join(texts(m.Blocks[0]), "|"), "line 98|line 99|line 100")
	is(t, "matches are marked", m.Blocks[0][1].Match && !m.Blocks[0][0].Match, true)
	is(t, "numbers", m.Blocks[0][1].Number, 98)
	is(t, "more", m.More, false)

	m = grep(t, reader(s), `^line \d5$`, GrepOptions{Regex: true, Max: 3})
	is(t, "a regular expression", m.Found == 3 && m.More && m.Next == 44, true)
	m = grep(t, reader(s), `^line \d5$`, GrepOptions{Regex: true, From: m.Next})
	is(t, "gone on with", m.Found == 6 && m.Blocks[0][0].Number == 44, true)
	m = grep(t, reader(s), "line", GrepOptions{})
	is(t, "fifty", m.Found == 50 && m.More && m.Next == 50, true)
	m = grep(t, reader(s), `\d5$`, GrepOptions{})
	is(t, "a text is no expression", m.Found, 0)
	m = grep(t, reader("xabc\nabc\nabcx"), `^abc$`, GrepOptions{Regex: true})
	is(t, "a text between the ends of a line", m.Found == 1 && m.Blocks[0][0].Number == 1, true)
	is(t, "in a line longer than a buffer", grep(t, reader(strings.Repeat("x", 2*chunk)+"abc\nabc"), `^abc$`, GrepOptions{Regex: true}).Found, 1)
	is(t, "of a CRLF", grep(t, reader("ab\r\nb"), "b$", GrepOptions{Regex: true}).Found, 2)

	wide := strings.Repeat("needle"+strings.Repeat("w", 994)+"\n", 100)
	m = grep(t, reader(wide), "needle", GrepOptions{Overhead: 7, Max: 100})
	is(t, "64 KiB", m.Found, 65_536/1008)
	is(t, "go on", m.More && m.Next == 65_536/1008 && !m.TooLarge, true)
	m = grep(t, reader("a\n"+strings.Repeat("x", 70_000)+"needle"), "needle", GrepOptions{})
	is(t, "too large to show", m.TooLarge && m.More && m.Next == 1 && len(m.Blocks) == 0, true)
	m = grep(t, reader("a\n"+strings.Repeat("é", 70_000)+"needle\nz"), "needle", GrepOptions{LineMax: 1000, Before: 1})
	is(t, "cut it has room", m.Found == 1 && m.Blocks[0][1].Cut && len(m.Blocks[0][1].Text) == 2000, true)
	is(t, "where it is", m.Blocks[0][1].Column, 70_000)
	m = grep(t, reader(strings.Repeat("x", 65_530)+"\nneedle\n"), "needle", GrepOptions{Before: 1})
	is(t, "without what has no room", m.Found == 1 && len(m.Blocks) == 1 && len(m.Blocks[0]) == 1, true)
	m = grep(t, reader("needle\n"+strings.Repeat("x", 65_530)+"\nneedle\n"), "needle", GrepOptions{After: 1, Before: 1})
	is(t, "and goes on behind it", m.Found == 2 && len(m.Blocks) == 2, true)

	for what, want := range map[string]error{"": ErrNoPattern, strings.Repeat("x", 5000): ErrPatternTooLong, `(abcdefgh){900}`: ErrPatternTooLong} {
		if _, err := reader(s).Grep(context.Background(), what, GrepOptions{Regex: true}); !errors.Is(err, want) {
			t.Errorf("%.20q: %v", what, err)
		}
	}
	for _, bad := range []string{"(", `(?=x)`, `\1`} {
		if _, err := reader(s).Grep(context.Background(), bad, GrepOptions{Regex: true}); err == nil {
			t.Errorf("%q is an expression", bad)
		}
	}
	is(t, "from behind the end", grep(t, reader(s), "line", GrepOptions{From: 1000}).Found, 0)
}

func TestSearchesOfAnyFile(t *testing.T) {
	texts := []string{"foo", "a", "é", "\xff", "Z9 a", "x", "\r", "foo\r", "\n"}
	expressions := []string{"foo", "^foo", "foo$", "^foo$", "^$", "o+", "(?i)FOO", "[a-z]9?", "x$", "^.$", "\u0301", ".*", "b(a|o)r"}
	rapid.Check(t, func(t *rapid.T) {
		s, lastEmpty := anyText(t, 50), rapid.Bool().Draw(t, "last empty")
		r := NewReader(strings.NewReader(s), int64(len(s)), ReaderOptions{LastEmpty: lastEmpty})
		o := GrepOptions{
			Regex: rapid.Bool().Draw(t, "regex"), Max: rapid.IntRange(1, 6).Draw(t, "max"), LineMax: rapid.IntRange(0, 9).Draw(t, "line"),
			Before: rapid.IntRange(0, 3).Draw(t, "before"), After: rapid.IntRange(0, 3).Draw(t, "after"),
			From: rapid.Int64Range(0, 6).Draw(t, "from"), Bytes: 1 << 30,
		}
		what := rapid.SampledFrom(texts).Draw(t, "text")
		if o.Regex {
			what = rapid.SampledFrom(expressions).Draw(t, "expression")
		}
		got, want := grep(t, r, what, o), modelGrep(s, lastEmpty, what, o)
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("%q in %q with %+v is\n%+v, want\n%+v", what, brief(s), o, got, want)
		}
		o.Bytes = rapid.IntRange(1, 60).Draw(t, "bytes")
		small, used := grep(t, r, what, o), 0
		for _, block := range small.Blocks {
			for _, l := range block {
				used += len(l.Text) + 1
			}
		}
		if used > o.Bytes || small.Found > want.Found || small.Found < want.Found && !small.More {
			t.Fatalf("%q in %q with %+v is\n%+v, without a bound\n%+v", what, brief(s), o, small, want)
		}
	})
}

func TestLinesOfAnyFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyText(t, 60)
		r := reader(s)
		lines := modelLines(s, false)
		for range 3 {
			n := rapid.Int64Range(0, int64(len(lines))).Draw(t, "line")
			from, limit := rapid.Int64Range(0, 20).Draw(t, "from"), rapid.Int64Range(1, 2000).Draw(t, "limit")
			got, err := r.Line(context.Background(), n, from, limit)
			if n == int64(len(lines)) {
				if !errors.Is(err, ErrNoLine) {
					t.Fatalf("line %d of %d: %v", n, len(lines), err)
				}
				continue
			}
			want := modelPart(lines[n], from, limit)
			want.Number = n
			if err != nil || got != want {
				t.Fatalf("%d characters from %d of line %d are %+v, want %+v (%v)", limit, from, n, got, want, err)
			}
		}
	})
}

// What is taken for a character at a glance is one for whoever looks closely.
func TestPlainRunesAreCharacters(t *testing.T) {
	pair := func(a, b rune) {
		if n := uniseg.GraphemeClusterCount(string([]rune{a, b})); n != 2 {
			t.Fatalf("%U %U are %d characters", a, b, n)
		}
	}
	n := 0
	for r := rune(0x80); r <= 0x10ffff; r++ {
		if !plain(r) {
			continue
		}
		n++
		for _, other := range []rune{'a', '\t', '\r', 0, 0xc0, 0x4e00, 0x3041, r} {
			pair(r, other)
			pair(other, r)
		}
	}
	if n < 20_000 {
		t.Fatalf("%d runes only", n)
	}
	for a := rune(0); a < 0x80; a++ {
		for b := rune(0); b < 0x80; b++ {
			if a != '\r' || b != '\n' {
				pair(a, b)
			}
		}
	}
}

// A character of a hundred thousand accents is many, and costs no more than they do.
func TestACharacterIsBounded(t *testing.T) {
	s := "e" + strings.Repeat("\u0301", 100_000) + "x"
	p := part(t, reader(s), 0, 0, MaxLineChars)
	is(t, "text", p.Text, s)
	if p.Length < 190 || p.Length > 200 {
		t.Fatalf("%d characters", p.Length)
	}
	shown := page(t, reader(s), 0, PageOptions{LineMax: 1}).Lines[0]
	is(t, "one of them", fmt.Sprint(len(shown.Text), shown.Cut), "1023 true")
}
