package view

import (
	"strings"
	"testing"

	"pgregory.net/rapid"

	"troupe/spill"
)

// A line that is overwritten shows its last state, as a terminal does.
func TestFinalShowsTheLastFrame(t *testing.T) {
	for in, want := range map[string]string{
		"plain\ttext\nmore":                      "plain\ttext\nmore",
		"10%\r20%\r100%\n":                       "100%\n",
		"10%\r20%\r100%":                         "100%",
		"100%\r":                                 "100%",
		"one\r\ntwo\r\r\nthree\n":                "one\ntwo\nthree\n",
		"longer line\rshort\n":                   "shortr line\n",
		"longer line\r\x1b[Kshort\n":             "short\n",
		"longer line\rshort\x1b[K\n":             "short\n",
		"longer line\r\x1b[2Kshort\n":            "short\n",
		"longer line\rshort\x1b[J\n":             "short\n",
		"line\x1b[2Jmore\n":                      "linemore\n",
		"longer\x1b[1Kline\n":                    "      line\n",
		"ab\bc\bd\n":                             "ad\n",
		"N\bNA\bAM\bM _\bx\n":                    "NAM x\n",
		"\b\bab\n":                               "ab\n",
		"ab\x1b[1Gc\n":                           "cb\n",
		"ab\x1b[1000Dc\n":                        "cb\n",
		"abc\r\x1b[Cx\n":                         "axc\n",
		"ab\x1b[3Cc\n":                           "ab   c\n",
		"abcdef\r\x1b[2Px\n":                     "xdef\n",
		"abcdef\r\x1b[2@x\n":                     "x abcdef\n",
		"abcdef\r\x1b[2Xx\n":                     "x cdef\n",
		"a\tb\rc\n":                              "c\tb\n",
		"a\tb\r\x1b[4Cc\n":                       "a   c   b\n",
		"漢字\rx\n":                                "x 字\n",
		"漢字\r\x1b[Cx\n":                          " x字\n",
		"xy\r漢\n":                                "漢\n",
		"e\u0301f\rx\n":                          "xf\n",
		"x\re\u0301f\n":                          "e\u0301f\n",
		"done      \r      \rok\n":               "ok\n",
		"Password: ":                             "Password: ",
		"\r>>> ":                                 ">>> ",
		"a\x00b\x07c\x7f\u009bd\n":               "abcd\n",
		"a\u202eb\rc\n":                          `c\u202eb` + "\n",
		"a\xffb\rx\n":                            "x\uFFFDb\n",
		"one\x1b[Atwo\n":                         "one\n   two\n",
		"one\x1b[5;3Htwo\x1b[Hthree\n":           "one\n  two\nthree\n",
		"\x1b[H\x1b[2J\x1b[Hx\n":                 "x\n",
		"a\x1b[3\r1mb\n":                         "b\n",
		"a\x1b[3\b1mb\n":                         "b\n",
		"\x1b[1;31mred\x1b[0m \rblue\n":          "blue\n",
		"10%\x1b]0;title\a\r20%\n":               "20%\n",
		"1\r\x1b[K2\r\x1b[K3\n1\r\x1b[K\x1b[K\n": "3\n\n",
	} {
		if got := clean(Cleaner{Final: true}, in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// On a terminal, CR goes to the beginning of the row; a line may have several.
func TestFinalWrapsAtTheWidth(t *testing.T) {
	for in, want := range map[string]string{
		"abcdefgh\rx\n":          "abcdexgh\n",
		"abcde\rx\n":             "xbcde\n",
		"abcde\b\bx\n":           "abxde\n",
		"abcdefghijkl\rx\n":      "abcdefghijxl\n",
		"abc\rdefghi\rx\n":       "defghx\n",
		"abcd漢\rx\n":             "abcdx\n",
		"ab\x1b[99Cx\rc\n":       "cb  x\n",
		"a\tb\rc\n":              "c\tb\n",
		"abcdefgh\n":             "abcdefgh\n",
		"abc\r\x1b[2Kabcdefg\rx": "abcdexg",
	} {
		if got := clean(Cleaner{Final: true, Cols: 5}, in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

func TestFinalKeepsColours(t *testing.T) {
	for in, want := range map[string]string{
		"\x1b[31mred\x1b[0m\n":                   "\x1b[31mred\x1b[0m\n",
		"\x1b[31mone\x1b[0m two\rx\n":            "x\x1b[31mne\x1b[0m two\n",
		"one\r\x1b[32mx\x1b[0m\n":                "\x1b[32mx\x1b[0mne\n",
		"\x1b[1m\x1b[31ma\rb\n":                  "\x1b[1m\x1b[31mb\n\x1b[0m",
		"\x1b[31ma\n\x1b[0mb\n":                  "\x1b[31ma\n\x1b[0mb\n",
		"\x1b[31m10%\r\x1b[K\x1b[0m\x1b[32mok\n": "\x1b[32mok\n\x1b[0m",
		"\x1b[31mcut":                            "\x1b[31mcut\x1b[0m",
	} {
		if got := clean(Cleaner{Final: true, Colours: true}, in); got != want {
			t.Errorf("%q becomes %q, want %q", in, got, want)
		}
	}
}

// What a full-screen program draws is left out, and one line says so.
func TestFinalLeavesOutTheAlternateScreen(t *testing.T) {
	vim := "\x1b[?1049h\x1b[1;1Hfile\x1b[2;1H~\x1b[3;1H~"
	for in, want := range map[string]string{
		"before\r\n" + vim + "\x1b[?1049l\r\nafter\r\n":      "before\n[… 6 bytes of a full-screen program not shown …]\nafter\n",
		"$ vim" + vim + "\x1b[?1049l$ ":                      "$ vim\n[… 6 bytes of a full-screen program not shown …]\n$ ",
		"a\n" + vim:                                          "a\n[… 6 bytes of a full-screen program not shown …]\n",
		"a\n" + vim + "\x1b[?1049l\x1b[?47hmore\x1b[?47lb\n": "a\n[… 10 bytes of a full-screen program not shown …]\nb\n",
		"10%\x1b[?1047;25h\x1b[?1047l\r20%\n":                "20%\n",
		"a\x1b[?25l\x1b[?1hb\n":                              "ab\n",
		"a\x1b[?1049l\n":                                     "a\n",
		"a\n\x1b[?1049h" + strings.Repeat("line\r\n", 3000) + strings.Repeat("\x1b[?1049l", 2): "a\n[… 14 KiB of a full-screen program not shown …]\n",
	} {
		c := Cleaner{Final: true, Cols: 80}
		if got := clean(c, in); got != want {
			t.Errorf("%.60q becomes %q, want %q", in, got, want)
		}
	}
	var c Cleaner
	c.Append(nil, []byte(vim))
	if !c.FullScreen() || !c.redrawn {
		t.Error("the alternate screen is not noticed")
	}
}

// The text is the same in any pieces, and a cleaner that shows the incomplete line on a
// terminal leads to the same line.
func TestSecurityFinalInAnyPieces(t *testing.T) {
	more := append([]string{"\b", "\x1b[K", "\x1b[1K", "\x1b[3G", "\x1b[2C", "\x1b[4D", "\x1b[2P", "\x1b[3@", "\x1b[2X", "\x1b[?1049h", "\x1b[?1049l", "\x1b[A", "\x1b[J", "abcdefgh"}, bits...)
	rapid.Check(t, func(t *rapid.T) {
		all := strings.Join(rapid.SliceOfN(rapid.SampledFrom(more), 0, 40).Draw(t, "output"), "")
		c := Cleaner{Final: true, Colours: rapid.Bool().Draw(t, "colours"), Cols: rapid.SampledFrom([]int{0, 1, 5, 80}).Draw(t, "cols")}
		whole := clean(c, all)
		var pieces []string
		for rest := all; rest != ""; {
			n := rapid.IntRange(1, min(len(rest), 9)).Draw(t, "piece")
			pieces, rest = append(pieces, rest[:n]), rest[n:]
		}
		if got := clean(c, pieces...); got != whole {
			t.Fatalf("%q in the pieces %q becomes %q, whole %q", all, pieces, got, whole)
		}
		safe(t, whole, c.Colours)
		text, seen := "", c
		for _, p := range pieces { // Rest shows what End would, and changes nothing
			text += string(seen.Append(nil, []byte(p)))
			seen.Rest()
		}
		if text += string(seen.Rest()); text != whole || text != text[:len(text)-len(seen.Rest())]+string(seen.End(nil)) {
			t.Fatalf("with Rest, %q becomes %q, whole %q", all, text, whole)
		}
	})
}

// Each frame is shown on a terminal that follows, in the same row.
func TestFinalFollows(t *testing.T) {
	c := Cleaner{Final: true, Colours: true}
	var got []string
	for _, p := range []string{"name? ", "x", "\r\n10%", "\r", "20", "%\r", "100%\n", "end"} {
		got = append(got, string(c.Follow(c.Append(nil, []byte(p)))))
	}
	redraw := "\r" + resetSGR + eraseRow
	want := []string{"name? ", "x", "\n10%", "", redraw + "20%", "", redraw + "100%\n", "end"}
	for i := range want {
		if got[i] != want[i] {
			t.Errorf("piece %d shows %q, want %q; all: %q", i, got[i], want[i], got)
		}
	}
}

// Flushed text cannot be overwritten: a CR begins a new line.
func TestFinalFlushes(t *testing.T) {
	c := Cleaner{Final: true}
	out := c.Flush(c.Append(nil, []byte("10%")))
	out = c.Flush(c.Append(out, []byte("\r20%\r30%")))
	out = c.End(c.Append(c.Flush(out), []byte("\r\nend")))
	if want := "10%\n30%\nend"; string(out) != want {
		t.Errorf("got %q, want %q", out, want)
	}
}

// A line without end is bounded in memory. Nothing of it is lost.
func TestSecurityFinalKeepsLittle(t *testing.T) {
	for _, cols := range []int{0, 80, 1 << 20} {
		for _, in := range []string{"x", "xy\b", "é", "\t", "x\r\x1b[99999C", "e\u0301\u0301", "\x1b[31mx\x1b[32m"} {
			c := Cleaner{Final: true, Colours: true, Cols: cols}
			for range 1 << 17 / len(in) {
				c.Append(nil, []byte(in))
			}
			if kept := cap(c.row.text) + 32*cap(c.row.cells) + len(c.row.style); kept > 2<<20 {
				t.Errorf("%q with %d columns: %d bytes are kept", in, cols, kept)
			}
		}
	}
	long := strings.Repeat("0123456789", 10_000)
	for _, cols := range []int{0, 80} {
		if got := clean(Cleaner{Final: true, Cols: cols}, long, "\n"); got != long+"\n" {
			t.Errorf("with %d columns, a long line has %d bytes", cols, len(got))
		}
	}
	if got := clean(Cleaner{Final: true}, long, "\rnext\n"); got != long+"\nnext\n" {
		t.Errorf("a CR after a line of %d bytes: %d bytes, %q", len(long), len(got), got[len(got)-10:])
	}
}

func TestFinalViews(t *testing.T) {
	frames := strings.Repeat("working 10%\r", 100)
	log := &fake{data: []byte("first\n" + frames + "working 100%\nlast\n")}
	lines := counted(t, log)
	o := Options{Bytes: 500, Style: Final}
	for name, view := range map[string]func() (View, error){
		"tail":  func() (View, error) { return Tail(log, o) },
		"lines": func() (View, error) { return TailLines(log, lines, 2, o) },
	} {
		v, err := view()
		v = must(t, v, err)
		if v.Text != "working 100%\nlast\n" || v.To != int64(len(log.data)) || !v.Truncated {
			t.Errorf("%s: %+v", name, v)
		}
	}
	o.Bytes = 0
	v, err := Page(log, lines, 2, 1, o)
	if v = must(t, v, err); v.Text != "working 100%\n" || v.Line != 2 {
		t.Errorf("page: %+v", v)
	}
	v, err = HeadTail(log, lines, 1, 1, o)
	if v = must(t, v, err); v.Text != "first\n[… 1 lines, 1213 bytes not shown …]\nlast\n" {
		t.Errorf("both ends: %q", v.Text)
	}
	o.Style = Plain
	if v, err = Tail(log, o); !must(t, v, err).Redrawn {
		t.Error("a plain view does not say that the final text differs")
	}
	if v, err = Tail(&fake{data: []byte("a\r\n\x1b[31mb\x1b[m\x1b[K\n")}, o); must(t, v, err).Redrawn {
		t.Error("a plain view says that the final text differs, and it does not")
	}
}

// A view that begins within the alternate screen knows it.
func TestFinalViewsWithinTheAlternateScreen(t *testing.T) {
	drawn := strings.Repeat("\x1b[5;5Htext ~", 1000)
	for data, want := range map[string]string{
		"a\n\x1b[?1049h" + drawn:                                                 "[… 540 bytes of a full-screen program not shown …]\n",
		"a\n\x1b[?1049h" + drawn + "\x1b[?1049lb\n":                              "[… 536 bytes of a full-screen program not shown …]\nb\n",
		"\x1b[?1049h" + drawn + "\x1b[?1049l" + strings.Repeat("line\n", 10_000): strings.Repeat("line\n", 200),
	} {
		v, err := Tail(&fake{data: []byte(data)}, Options{Bytes: 1000, Style: Final, Cols: 80})
		v = must(t, v, err)
		if strings.Contains(v.Text, "~") || !strings.HasSuffix(v.Text, want[len(want)-10:]) {
			t.Errorf("%.30q: %q", data, v.Text)
		}
		if full := strings.HasSuffix(data, drawn); v.FullScreen != full {
			t.Errorf("%.30q: full screen is %v", data, v.FullScreen)
		}
	}
	far := "\x1b[?1049h" + strings.Repeat("~", 2<<20)
	for cols, full := range map[int]bool{0: false, 80: true} { // of a terminal, all of it is searched
		v, err := Tail(&fake{data: []byte(far)}, Options{Bytes: 1000, Style: Final, Cols: cols})
		if v = must(t, v, err); v.FullScreen != full {
			t.Errorf("with %d columns, full screen is %v", cols, v.FullScreen)
		}
	}
	v, err := Tail(&fake{data: []byte(far + "\x1b[?1049lend")}, Options{Bytes: 1000, Style: Final})
	if v = must(t, v, err); strings.Contains(v.Text, "~") || !strings.HasSuffix(v.Text, "\nend") {
		t.Errorf("after the end of a full-screen program: %.60q", v.Text)
	}
}

func TestAlternateAt(t *testing.T) {
	for data, want := range map[string]bool{
		"": false, "\x1b[?1049h": true, "\x1b[?1049h\x1b[?1049l": false, "\x1b[?47hx\x1b[?25h": true, "\x1b[?1;1047h": true, "\x1b[?1049": false, "\x1b[?10490h": false,
	} {
		for _, pad := range []int{0, pageChunk - 3, pageChunk, 3 * pageChunk} { // also across pieces
			log := &fake{data: []byte(data + strings.Repeat(".", pad))}
			on, err := AlternateAt(log, 0, int64(len(log.data)), false)
			if err != nil || on != want {
				t.Errorf("%q and %d bytes: %v, %v", data, pad, on, err)
			}
			if on, _ = AlternateAt(log, int64(len(data)), int64(len(log.data)), want); on != want {
				t.Errorf("%q is known, after %d bytes: %v", data, pad, on)
			}
		}
	}
}

// A cursor that goes to the right adds little, and a view stays within its bounds.
func TestSecurityFinalViewIsBounded(t *testing.T) {
	log := &fake{data: []byte(strings.Repeat("\x1b[999Cx\n", 5000))}
	v, err := Tail(log, Options{Bytes: 10_000, Style: Final})
	if v = must(t, v, err); v.shown() > 10_000 || !v.Truncated {
		t.Errorf("%d bytes are shown, truncated %v", v.shown(), v.Truncated)
	}
}

// Two streams in one view: a line that the other stream interrupts is not overwritten.
func TestFinalInterleaves(t *testing.T) {
	stdout, stderr := &fake{data: []byte("10%\r20%\r30%\r40%\n")}, &fake{data: []byte("oops\n")}
	order := []spill.Segment{{Stream: spill.Stdout, Length: 8}, {Stream: spill.Stderr, Length: 5}, {Stream: spill.Stdout, Offset: 8, Length: 9}}
	v, err := Interleave(func(yield func(spill.Segment) bool) {
		for _, s := range order {
			if !yield(s) {
				return
			}
		}
	}, stdout, stderr, [2]int64{}, Options{Style: Final})
	if v = must(t, v, err); v.Text != "20%\noops\n40%\n" {
		t.Errorf("got %q", v.Text)
	}
}
