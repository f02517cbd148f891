package view

import (
	"fmt"
	"strings"
	"testing"

	"troupe/spill"
)

func TestTail(t *testing.T) {
	for name, c := range map[string]struct {
		log   *fake
		bytes int
		want  string
		part  Part
		cut   bool
	}{
		"empty":                     {text(""), 10, "", All, false},
		"all":                       {text("one\ntwo\n"), 8, "one\ntwo\n", All, false},
		"one byte less":             {text("one\ntwo\n"), 7, "ne\ntwo\n", End, true},
		"at a line":                 {text("one\ntwo\n"), 4, "two\n", End, false},
		"a rune that does not fit":  {text("aé"), 2, "é", End, true},
		"half a rune is left out":   {text("é\n"), 2, "\n", End, true},
		"no UTF-8":                  {text("a\xff\xc3"), 9, "a\uFFFD\uFFFD", All, false},
		"no UTF-8 costs three":      {text("ab\xff\xc3"), 7, "b\uFFFD\uFFFD", End, true},
		"part of a rune, live":      {&fake{data: []byte("a\xe2\x82"), open: true}, 9, "a", All, false},
		"NUL is a byte like others": {text("a\x00b"), 9, "a\x00b", All, false},
		"within a gap's tail": {
			&fake{data: make([]byte, 100), gaps: []spill.Gap{{From: 10, To: 98}}}, 2, "\x00\x00", End, true,
		},
		"over a gap": {
			&fake{data: []byte("one\n........\nend\n"), gaps: []spill.Gap{{From: 4, To: 12}}}, 9,
			"one\n[… 8 bytes not kept …]\n\nend\n", All, false,
		},
		"a gap in a line": {
			&fake{data: []byte("one........end"), gaps: []spill.Gap{{From: 3, To: 11}}}, 9,
			"one\n[… 8 bytes not kept …]\nend", All, false,
		},
		"a gap that cuts runes": {
			&fake{data: []byte("aé....€b"), gaps: []spill.Gap{{From: 2, To: 8}}}, 99,
			"a\n[… 6 bytes not kept …]\nb", All, false,
		},
		"nothing but a gap": {
			&fake{data: make([]byte, 9), gaps: []spill.Gap{{From: 0, To: 9}}}, 9, "[… 9 bytes not kept …]\n", All, false,
		},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Tail(c.log, Options{Bytes: c.bytes})
			v = must(t, v, err)
			if v.Text != c.want || v.Part != c.part || v.Cut != c.cut {
				t.Errorf("got %q (%s, cut %v), want %q (%s, cut %v)", v.Text, v.Part, v.Cut, c.want, c.part, c.cut)
			}
			if v.Truncated != (c.part != All || len(c.log.gaps) > 0) {
				t.Errorf("truncated is %v", v.Truncated)
			}
		})
	}
}

func TestTailLines(t *testing.T) {
	five := "one\ntwo\nthree\nfour\nfive"
	for name, c := range map[string]struct {
		log  *fake
		n    int
		size int
		want string
		line int64
	}{
		"last two":                {text(five), 2, 99, "four\nfive", 4},
		"a newline ends a line":   {text(five + "\n"), 2, 99, "four\nfive\n", 4},
		"an empty line is one":    {text(five + "\n\n"), 2, 99, "five\n\n", 5},
		"more than there are":     {text(five), 9, 99, five, 1},
		"whole lines only":        {text(five), 0, 12, "four\nfive", 4},
		"whole lines that fit":    {text(five), 3, 9, "four\nfive", 4},
		"one line too long":       {text("abcdef"), 1, 3, "def", 1},
		"one line too long, ends": {text("abcdef\n"), 1, 3, "ef\n", 1},
		"over a gap": {
			&fake{data: []byte("one\ntwo\nth....\nfive\n"), gaps: []spill.Gap{{From: 10, To: 14}}}, 3, 99,
			"two\nth\n[… 4 bytes not kept …]\n\nfive\n", 0,
		},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := TailLines(c.log, counted(t, c.log), c.n, Options{Bytes: c.size})
			v = must(t, v, err)
			if v.Text != c.want || v.Line != c.line {
				t.Errorf("got %q from line %d, want %q from line %d", v.Text, v.Line, c.want, c.line)
			}
		})
	}
}

func TestHeadTail(t *testing.T) {
	ten := "1\n2\n3\n4\n5\n6\n7\n8\n9\n10\n"
	for name, c := range map[string]struct {
		log        *fake
		head, tail int
		bytes      int
		want       string
		part       Part
	}{
		"both":         {text(ten), 2, 2, 99, "1\n2\n[… 6 lines, 12 bytes not shown …]\n9\n10\n", Ends},
		"they meet":    {text(ten), 5, 5, 99, ten, All},
		"they overlap": {text(ten), 8, 8, 99, ten, All},
		"head only":    {text(ten), 2, 0, 99, "1\n2\n[… 17 bytes not shown …]\n", Ends},
		"tail only":    {text(ten), 0, 2, 99, "[… 8 lines, 16 bytes not shown …]\n9\n10\n", Ends},
		"bounded":      {text(ten), 9, 9, 12, "1\n2\n3\n[… 5 lines, 10 bytes not shown …]\n9\n10\n", Ends},
		"one long line": {
			text(strings.Repeat("x", 50)), 5, 5, 8, "xxxx\n[… 42 bytes not shown …]\nxxxx", Ends,
		},
		"a gap between": {
			&fake{data: []byte(ten), gaps: []spill.Gap{{From: 6, To: 12}}}, 2, 2, 99,
			"1\n2\n[… 2 bytes not shown …]\n[… 6 bytes not kept …]\n[… 4 bytes not shown …]\n9\n10\n", Ends,
		},
		"empty": {text(""), 2, 2, 99, "", All},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := HeadTail(c.log, counted(t, c.log), c.head, c.tail, Options{Bytes: c.bytes})
			v = must(t, v, err)
			if v.Text != c.want || v.Part != c.part {
				t.Errorf("got %q (%s), want %q (%s)", v.Text, v.Part, c.want, c.part)
			}
		})
	}
}

func TestPage(t *testing.T) {
	five := "one\ntwo\nthree\nfour\nfive"
	for name, c := range map[string]struct {
		log   *fake
		from  int64
		limit int
		bytes int
		want  string
		line  int64
		part  Part
	}{
		"beginning":         {text(five), 1, 2, 99, "one\ntwo\n", 1, Beginning},
		"middle":            {text(five), 2, 2, 99, "two\nthree\n", 2, Middle},
		"end":               {text(five), 4, 9, 99, "four\nfive", 4, End},
		"all":               {text(five), 1, 0, 99, five, 1, All},
		"behind the end":    {text(five), 9, 2, 99, "", 0, End},
		"below one":         {text(five), -3, 1, 99, "one\n", 1, Beginning},
		"whole lines fit":   {text(five), 1, 9, 9, "one\ntwo\n", 1, Beginning},
		"one line too long": {text(five), 3, 1, 3, "thr", 3, Middle},
	} {
		t.Run(name, func(t *testing.T) {
			v, err := Page(c.log, counted(t, c.log), c.from, c.limit, Options{Bytes: c.bytes})
			v = must(t, v, err)
			if v.Text != c.want || v.Line != c.line || v.Part != c.part {
				t.Errorf("got %q from %d (%s), want %q from %d (%s)", v.Text, v.Line, v.Part, c.want, c.line, c.part)
			}
		})
	}
}

// Lines that were counted before the middle was taken out keep their numbers.
func TestPageOverAGap(t *testing.T) {
	var all strings.Builder
	for i := range 20_000 {
		fmt.Fprintf(&all, "line %d\n", i+1)
	}
	log := text(all.String())
	l := counted(t, log)
	if n, exact := l.Count(); n != 20_000 || !exact {
		t.Fatalf("counted %d lines, exact %v", n, exact)
	}
	at := func(line string) int64 { return int64(strings.Index(all.String(), line)) }
	log.gaps = []spill.Gap{{From: at("line 5001\n"), To: at("line 15001\n")}}
	for from, want := range map[int64]string{
		5000:  "line 5000\n[… ",
		10000: "[… ",
		15001: "[… ", // the gap may hide its beginning
		15002: "line 15002\nline 15003\n",
		19999: "line 19999\nline 20000\n",
	} {
		v, err := Page(log, l, from, 2, Options{})
		v = must(t, v, err)
		if !strings.HasPrefix(v.Text, want) || strings.Contains(v.Text, "\x00") {
			t.Errorf("page from %d is %.60q, want it to begin with %q", from, v.Text, want)
		}
	}
	l = counted(t, log)
	if n, exact := l.Count(); n != 10_000 || exact {
		t.Fatalf("counted %d lines beside the gap, exact %v", n, exact)
	}
	// Counted beside the gap, what is behind it has no number.
	for from, want := range map[int64]string{
		5000:  "line 5000\n[… ",
		5001:  "[… ",
		5002:  "[… ",
		9999:  "[… ",
		19999: "[… ",
		99999: "[… ",
	} {
		v, err := Page(log, l, from, 2, Options{})
		v = must(t, v, err)
		if !strings.HasPrefix(v.Text, want) || v.Line > 5001 || len(v.Gaps()) != 1 {
			t.Errorf("page from %d is %.60q from line %d, want it to begin with %q", from, v.Text, v.Line, want)
		}
	}
}

// A view says that it goes to where it was looked, not to what came meanwhile.
func TestViewOfALogThatGrows(t *testing.T) {
	v, err := Tail(&grows{fake: fake{data: []byte("new"), open: true}}, Options{})
	if v = must(t, v, err); v.Text != "" || v.To != 0 || v.Bytes != 0 {
		t.Errorf("%q, to %d of %d", v.Text, v.To, v.Bytes)
	}
}

// A view that begins within a long sequence shows nothing of it.
func TestViewWithinALongSequence(t *testing.T) {
	for name, data := range map[string]string{
		"picture": "start\n\x1bPq" + strings.Repeat("~", 60_000) + "\x1b\\done\n",
		"title":   strings.Repeat("a", 9000) + "\n\x1b]0;" + strings.Repeat("T", 7000) + "\adone\n",
	} {
		v, err := Tail(text(data), Options{Style: Plain, Bytes: 1000})
		if v = must(t, v, err); v.Text != "done\n" {
			t.Errorf("of a %s %.40q is shown", name, v.Text)
		}
	}
}

// What cannot be told without what is to come is left to the next view.
func TestViewOfWhatIsNotWhole(t *testing.T) {
	for _, c := range []struct {
		data, want string
		to         int64
	}{
		{"a\r", "a", 1},
		{"a\xe2\x82", "a", 1},
		{"a\x1b[3", "a", 1},
		{"a\x1b]0;title", "a", 1},
		{"a\r\x1b[3\n1", "a", 1},
		{"a\x1b[31m", "a", 6},
		{"a\r\n", "a\n", 3},
		{"\r", "", 0},
	} {
		o := Options{Style: Plain}
		live := &fake{data: []byte(c.data), open: true}
		tail, err := Tail(live, o)
		page, err2 := Page(live, counted(t, live), 1, 0, o)
		for _, v := range []View{must(t, tail, err), must(t, page, err2)} {
			if v.Text != c.want || v.To != c.to || v.Part != All || v.Truncated {
				t.Errorf("%q is %q to %d (%s)", c.data, v.Text, v.To, v.Part)
			}
		}
		end, err := Tail(text(c.data), o)
		if v := must(t, end, err); v.To != int64(len(c.data)) {
			t.Errorf("%q, which is all, ends at %d", c.data, v.To)
		}
	}
}

func TestPageOfWhatIsNotCounted(t *testing.T) {
	if _, err := Page(text("one\ntwo\n"), new(spill.LineIndex), 3, 1, Options{}); err != ErrUncounted {
		t.Fatalf("got %v", err)
	}
}

func TestText(t *testing.T) {
	log := text("aé€b")
	for _, c := range []struct {
		from, limit int64
		want        string
	}{{0, 99, "aé€b"}, {1, 2, "é"}, {2, 4, "€"}, {2, 3, ""}, {4, 99, "b"}, {-1, 1, "a"}, {7, 9, ""}, {0, -1, ""}} {
		v, err := Text(log, c.from, c.limit, Options{})
		if v = must(t, v, err); v.Text != c.want {
			t.Errorf("%d bytes from %d: got %q, want %q", c.limit, c.from, v.Text, c.want)
		}
	}
}

func TestRaw(t *testing.T) {
	log := &fake{data: []byte("one\x00\xff....end"), gaps: []spill.Gap{{From: 5, To: 9}}}
	b, gaps, err := Raw(log, 2, 5)
	if err != nil || string(b) != "e\x00\xff\x00\x00" || len(gaps) != 1 || gaps[0] != (spill.Gap{From: 5, To: 7}) {
		t.Errorf("got %q, %v, %v", b, gaps, err)
	}
	if b, _, err := Raw(log, 99, 5); err != nil || len(b) != 0 {
		t.Errorf("behind the end: %q, %v", b, err)
	}
}
