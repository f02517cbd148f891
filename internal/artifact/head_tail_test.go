package artifact

import (
	"fmt"
	"strings"
	"testing"
	"unicode/utf8"

	"pgregory.net/rapid"
)

func numbered(n int) string {
	var b strings.Builder
	for i := range n {
		fmt.Fprintf(&b, "line %d\n", i+1)
	}
	return b.String()
}

// HeadTailOf is ReadHeadTail for a text that is in memory.
func HeadTailOf(s string, o HeadTailOptions) HeadTail {
	total := int64(strings.Count(s, "\n"))
	if s != "" && !strings.HasSuffix(s, "\n") {
		total++
	}
	e, err := ReadHeadTail(strings.NewReader(s), int64(len(s)), total, o)
	if err != nil {
		return HeadTail{Total: total, Omitted: total} // a string is read without errors
	}
	return e
}

func TestR170_TheGapIsCounted(t *testing.T) {
	e := HeadTailOf(numbered(8432), HeadTailOptions{Head: 500, Tail: 500})
	is(t, "total", e.Total, 8432)
	is(t, "gap", e.Omitted, 7432)
	is(t, "whole", e.Whole(), false)
	is(t, "without a newline at the end", HeadTailOf("a\nb\nc", HeadTailOptions{Head: 1, Tail: 1}).Omitted, 1)
	is(t, "none", HeadTailOf("", HeadTailOptions{Head: 1, Tail: 1}), HeadTail{})
}

func TestR171_HeadAndTailAreWholeLines(t *testing.T) {
	is(t, "lines of each end", EndLines, 500)
	s := numbered(2001)
	e := HeadTailOf(s, HeadTailOptions{Head: 500, Tail: 500})
	is(t, "head", e.Head, numbered(500))
	is(t, "tail", e.Tail, s[len(numbered(1501)):])
	is(t, "other numbers", HeadTailOf(s, HeadTailOptions{Head: 2, Tail: 1}).Head, "line 1\nline 2\n")

	long := strings.Repeat(strings.Repeat("€", 100)+"\n", 1000) // 301 bytes each
	e = HeadTailOf(long, HeadTailOptions{Head: 500, Tail: 500, Bytes: 80 << 10})
	if n := len(e.Head) + len(e.Tail); n > 80<<10 || n < 80<<10-301 {
		t.Fatalf("%d bytes are shown", n)
	}
	is(t, "lines", e.HeadLines+e.TailLines, (80<<10)/301)
	is(t, "evenly", max(e.HeadLines-e.TailLines, e.TailLines-e.HeadLines) <= 1, true)
	is(t, "gap", e.Omitted, 1000-e.HeadLines-e.TailLines)
	is(t, "whole lines", strings.Trim(e.Head+e.Tail, "€\n"), "")
	is(t, "each", strings.ReplaceAll(e.Head+e.Tail, strings.Repeat("€", 100)+"\n", ""), "")
}

func TestR172_WithoutAFileLinesGoFromTheInnerBoundary(t *testing.T) {
	is(t, "lines of each end", PlainLines, 1000)
	s := numbered(5000)
	e := HeadTailOf(s, HeadTailOptions{Head: PlainLines, Tail: PlainLines})
	is(t, "lines that fit", e.HeadLines+e.TailLines, 2000)
	wide := strings.Repeat(strings.Repeat("w", 59)+"\n", 5000)
	e = HeadTailOf(wide, HeadTailOptions{Head: PlainLines, Tail: PlainLines})
	is(t, "bytes", len(e.Head)+len(e.Tail), 51_200/60*60)
	if !strings.HasPrefix(wide, e.Head) || !strings.HasSuffix(wide, e.Tail) || e.HeadLines < 426 || e.TailLines < 426 {
		t.Fatalf("%d and %d lines", e.HeadLines, e.TailLines)
	}
	// What one end does not use is the other's.
	uneven := strings.Repeat("n\n", 1000) + strings.Repeat(strings.Repeat("w", 99)+"\n", 1000)
	e = HeadTailOf(uneven, HeadTailOptions{Head: PlainLines, Tail: PlainLines, Bytes: 51_200})
	is(t, "narrow lines", e.HeadLines, 1000)
	is(t, "wide lines", e.TailLines, (51_200-2000)/100)
}

func TestR173_AHugeLineIsCutInItsMiddle(t *testing.T) {
	two := strings.Repeat(strings.Repeat("w", 29)+"\n", 2)
	is(t, "what has room is shown once", HeadTailOf(two, HeadTailOptions{Head: 9, Tail: 9, Bytes: 100}).Head, two)

	huge := strings.Repeat("€", 100_000)
	for what, c := range map[string]struct {
		text       string
		head, tail string // how they begin and end
		omitted    int64
	}{
		"one line":          {huge, "€€", "", 0},
		"with its newline":  {huge + "\n", "€€", "", 0},
		"in a short text":   {"a\n" + huge + "\nz\n", "a\n€", "z\n", 0},
		"two of them":       {huge + "\n" + huge + "\n", "€€", "€€\n", 0},
		"around many lines": {huge + "\n" + numbered(90) + huge, "€€", "€€", 90},
		"at the beginning":  {huge + "\n" + strings.Repeat(huge[:3000]+"\n", 90), "€€", "€€\n", 82},
		"at the end":        {strings.Repeat(huge[:3000]+"\n", 90) + huge, "€€", "€€", 82},
	} {
		e := HeadTailOf(c.text, HeadTailOptions{Head: 500, Tail: 500})
		if n := len(e.Head) + len(e.Tail); n > 51_200 || n < 50_000 && what != "at the beginning" && what != "at the end" {
			t.Errorf("%s: %d bytes are shown", what, n)
		}
		all := e.Head + e.Tail
		if !utf8.ValidString(all) || strings.Contains(all, "\uFFFD") || e.Cut == 0 || e.Omitted != c.omitted {
			t.Errorf("%s: %d bytes cut, %d lines omitted, %q", what, e.Cut, e.Omitted, all[:100])
		}
		if !strings.HasPrefix(e.Head, c.head) || !strings.HasSuffix(e.Tail, c.tail) {
			t.Errorf("%s: from %q to %q", what, e.Head[:10], e.Tail)
		}
		if !strings.Contains(all, " bytes of this line are left out; the file has them") {
			t.Errorf("%s: nobody says what is left out", what)
		}
	}
	got, left := middleOf("0123456789abcdefghij\n", 17, func(n int64) string { return fmt.Sprintf("<%d>", n) })
	is(t, "cut", got, "012345<8>efghij\n")
	is(t, "left out", left, 8)
	got, left = middleOf("éé👨aaaaaaaaaaaaaaaaaaaa", 20, func(n int64) string { return fmt.Sprintf("<%2d>", n) })
	is(t, "no part of a rune", got, "éé👨<12>aaaaaaaa")
	is(t, "left of it", left, 12)
	got, _ = middleOf("👨👨aaaaaaa", 10, func(int64) string { return "<>" })
	is(t, "a rune without room", got, "👨<>aaaa")
	got, _ = middleOf("👨👨aaaaaaa", 9, func(int64) string { return "<>" })
	is(t, "no room for three bytes of four", got, "👨<>aaa")
	got, _ = middleOf("👨aaaaaaaaa", 8, func(int64) string { return "<>" })
	is(t, "nor for a part of the first", got, "<>aaa")
	got, left = middleOf("0123", 4, LeftOut)
	is(t, "whole", got, "0123")
	is(t, "nothing left out", left, 0)
	got, left = middleOf(huge, 10, LeftOut)
	is(t, "no room for the marker", got, "")
	is(t, "all left out", left, 300_000)
	is(t, "marker", LeftOut(1_234_567), "... [1,234,567 bytes of this line are left out; the file has them] ...")
}

// However a text is, its ends are those of its lines, keep to the bytes, and leave out
// no line that has room.
func TestEndsOfAnyText(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := anyText(t, 60)
		o := HeadTailOptions{
			Head: rapid.IntRange(0, 9).Draw(t, "head"), Tail: rapid.IntRange(0, 9).Draw(t, "tail"),
			Bytes: rapid.IntRange(1, 120).Draw(t, "bytes"), Marker: func(n int64) string { return fmt.Sprintf("<%d>", n) },
		}
		e := HeadTailOf(s, o)
		var lines []string
		for l := range strings.SplitAfterSeq(s, "\n") {
			if l != "" {
				lines = append(lines, text([]byte(l)))
			}
		}
		n := int64(len(lines))
		if e.Total != n || e.HeadLines+e.TailLines+e.Omitted != n || len(e.Head)+len(e.Tail) > o.Bytes {
			t.Fatalf("%+v of %d lines within %+v", e, n, o)
		}
		if !utf8.ValidString(e.Head) || !utf8.ValidString(e.Tail) {
			t.Fatalf("%+v is not UTF-8", e)
		}
		if e.Whole() {
			if e.Head != strings.Join(lines, "") {
				t.Fatalf("%+v is said to be all of %q", e, s)
			}
			return
		}
		if e.HeadLines > int64(o.Head) || e.TailLines > int64(o.Tail) {
			t.Fatalf("%+v, asked for %+v", e, o)
		}
		if e.Cut > 0 {
			return // the texts are those of middle
		}
		head, tail := strings.Join(lines[:e.HeadLines], ""), strings.Join(lines[n-e.TailLines:], "")
		if e.Head != head || e.Tail != tail {
			t.Fatalf("%+v are no lines of %q", e, s)
		}
		room := o.Bytes - len(head) - len(tail)
		if e.HeadLines > 0 && e.TailLines > 0 && (int(e.HeadLines) < o.Head && len(lines[e.HeadLines]) <= room ||
			int(e.TailLines) < o.Tail && len(lines[n-e.TailLines-1]) <= room) {
			t.Fatalf("%+v leaves out a line of %q that has room in %+v", e, s, o)
		}
	})
}

// A line that is cut keeps to its bytes and says how many are missing, exactly.
func TestMiddleOfAnyLine(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s := strings.ReplaceAll(anyText(t, 30), "\n", "")
		n := rapid.IntRange(0, 80).Draw(t, "n")
		got, left := middleOf(s, n, func(n int64) string { return fmt.Sprintf("<%d left>", n) })
		if len(got) > n || !utf8.ValidString(got) {
			t.Fatalf("%q within %d is %q", s, n, got)
		}
		if got == "" && s != "" {
			return
		}
		mark := fmt.Sprintf("<%d left>", left)
		head, tail, cut := strings.Cut(got, mark)
		if cut != (left > 0) {
			t.Fatalf("%q of %q tells not that %d bytes are missing", got, s, left)
		}
		if cut && (!strings.HasPrefix(text([]byte(s)), head) || !strings.HasSuffix(text([]byte(s)), tail)) {
			t.Fatalf("%q of %q", got, s)
		}
		if utf8.ValidString(s) && cut && int64(len(s)-len(head)-len(tail)) != left {
			t.Fatalf("%q of %q: %d bytes are missing", got, s, left)
		}
	})
}

// middleOf is middle for a text.
func middleOf(line string, n int, mark Marker) (string, int64) {
	cut, left, err := truncateLine(strings.NewReader(line), 0, int64(len(line)), n, mark)
	if err != nil {
		panic(err) // a string is read without errors
	}
	return cut, left
}
