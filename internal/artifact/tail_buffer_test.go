package artifact

import (
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"pgregory.net/rapid"
)

// intoDir opens files in a directory of their own.
func intoDir(t testing.TB) func() (*File, error) {
	s := NewStore(filepath.Join(t.TempDir(), "artifacts"))
	return func() (*File, error) { return s.Create(ToolBash) }
}

func TestR073_TheWindowIsFiftyKiBAndAllIsCounted(t *testing.T) {
	is(t, "window", WindowBytes, 51_200)
	w := NewTailBuffer(WindowBytes, nil)
	for range 3000 {
		_, _ = io.WriteString(w, "€ twenty-two bytes!!\n")
	}
	s := w.Close("")
	is(t, "bytes", s.TotalBytes, 3000*23)
	is(t, "lines: no cap of 2000", s.TotalLines, 3001)
	if s.OutputBytes > WindowBytes || s.OutputBytes < WindowBytes-3 || !utf8.ValidString(s.Text) {
		t.Fatalf("%d bytes are kept", s.OutputBytes)
	}
	if s.OutputLines <= 2000 {
		t.Fatalf("%d lines are kept", s.OutputLines)
	}
}

func TestR074_TheFileHasAllAndTheResultTheTail(t *testing.T) {
	w := NewTailBuffer(8, intoDir(t))
	_, _ = io.WriteString(w, "0123")
	_, _ = io.WriteString(w, "4567")
	_, _ = io.WriteString(w, "8") // over
	_, _ = io.WriteString(w, "9")
	s := w.Close("")
	if s.File == nil || !s.Truncated {
		t.Fatalf("%+v", s)
	}
	is(t, "file", content(t, s.File.Path), "0123456789")
	is(t, "result", s.Text, "23456789")
}

func TestR075_SmallOutputsLeaveNoFile(t *testing.T) {
	dir := filepath.Join(t.TempDir(), "artifacts")
	w := NewTailBuffer(8, func() (*File, error) { return NewStore(dir).Create(ToolBash) })
	_, _ = io.WriteString(w, "01234567")
	if s := w.Close(""); s.File != nil || s.Truncated || s.Text != "01234567" {
		t.Fatalf("%+v", s)
	}
	gone(t, dir)
}

func TestR076_OverflowIsExactAndCutsNoRune(t *testing.T) {
	for _, c := range []struct {
		pieces    []string
		text      string
		truncated bool
	}{
		{[]string{strings.Repeat("a", 10)}, strings.Repeat("a", 10), false},
		{[]string{"a", strings.Repeat("b", 10)}, strings.Repeat("b", 10), true},
		{[]string{"a", strings.Repeat("b", 12)}, strings.Repeat("b", 10), true},
		{[]string{"abcdefgh", "€"}, "bcdefgh€", true},
		{[]string{"€bcdefgh", "i"}, "bcdefghi", true}, // never a part of a rune
		{[]string{"\xe2", "\x82\xac234567", "89"}, "23456789", true},
		{[]string{"one\ntwo\nthree"}, "two\nthree", true},
	} {
		w := NewTailBuffer(10, nil)
		if c.pieces[0] == "one\ntwo\nthree" { // it may begin in a line
			w = NewTailBuffer(9, nil)
		}
		for _, p := range c.pieces {
			_, _ = io.WriteString(w, p)
		}
		s := w.Close("")
		if s.Text != c.text || s.Truncated != c.truncated {
			t.Errorf("%q: got %q, %v", c.pieces, s.Text, s.Truncated)
		}
	}
}

func TestR077_LinesAreNewlinesAndOne(t *testing.T) {
	for s, want := range map[string]int64{"": 0, "a": 1, "a\n": 2, "a\nb": 2, "\n": 2} {
		w := NewTailBuffer(100, nil)
		_, _ = io.WriteString(w, s)
		got := w.Close("")
		if got.TotalLines != want || got.OutputLines != want {
			t.Errorf("%q: %d and %d lines, want %d", s, got.TotalLines, got.OutputLines, want)
		}
	}
	w := NewTailBuffer(3, nil)
	_, _ = io.WriteString(w, "1\n2\n3\n4")
	got := w.Close("")
	is(t, "all", got.TotalLines, 4)
	is(t, "kept", got.OutputLines, 2)
}

func TestR078_TheSummaryTellsAll(t *testing.T) {
	w := NewTailBuffer(4, intoDir(t))
	_, _ = io.WriteString(w, "one\ntwo\nfour")
	s := w.Close("[cut]")
	is(t, "text", s.Text, "[cut]\nfour")
	is(t, "truncated", s.Truncated, true)
	is(t, "lines", s.TotalLines, 3)
	is(t, "bytes", s.TotalBytes, 12)
	is(t, "shown lines", s.OutputLines, 1)
	is(t, "shown bytes", s.OutputBytes, 4)
	is(t, "id", s.File.ID, "0")
}

func TestR080_LiveUpdatesReplaceEachOther(t *testing.T) {
	w := NewTailBuffer(10, nil)
	live := NewTail(6)
	both := io.MultiWriter(w, live)
	var seen []string
	for _, p := range []string{"abc", "\xe2\x82", "\xac", "defgh"} {
		_, _ = both.Write([]byte(p))
		seen = append(seen, live.String())
	}
	is(t, "updates", strings.Join(seen, "|"), "abc|abc|abc€|defgh")
	is(t, "the window's own", w.Close("").Text, "bc€defgh")
}

func TestR081_TheTailIsBoundedAndWhole(t *testing.T) {
	nothing := NewTail(0)
	_, _ = io.WriteString(nothing, "text")
	is(t, "limit 0", nothing.String(), "")

	lazy := NewTail(4)
	_, _ = io.WriteString(lazy, "abc")
	_, _ = io.WriteString(lazy, "def")
	is(t, "held", len(lazy.bytes), 6)
	is(t, "shown", lazy.String(), "cdef")
	_, _ = io.WriteString(lazy, "ghi")
	is(t, "trimmed above twice the limit", len(lazy.bytes), 4)
	_, _ = io.WriteString(lazy, "01234567")
	is(t, "replaced", string(lazy.bytes), "4567")

	rapid.Check(t, func(t *rapid.T) {
		s, limit := anyText(t, 40), rapid.IntRange(0, 50).Draw(t, "limit")
		tail, n := NewTail(limit), 0
		inPieces(t, s, func(p []byte) {
			_, _ = tail.Write(p)
			n += len(p)
			got := tail.String()
			if len(got) > limit || !utf8.ValidString(got) || len(tail.bytes) > 2*limit {
				t.Fatalf("the tail of %q is %q, of %d bytes held", s[:n], got, len(tail.bytes))
			}
			if utf8.ValidString(s[:n]) && got != last(s[:n], limit) {
				t.Fatalf("the tail of %q is %q", s[:n], got)
			}
		})
	})
}

func TestAWindowInAnyPieces(t *testing.T) {
	dir := t.TempDir()
	rapid.Check(t, func(t *rapid.T) {
		s, limit := anyText(t, 30), rapid.IntRange(0, 60).Draw(t, "limit")
		store := NewStore(dir)
		w := NewTailBuffer(limit, func() (*File, error) { return store.Create(ToolBash) })
		inPieces(t, s, func(p []byte) { _, _ = w.Write(p) })
		got := w.Close("")
		if got.Truncated != (len(s) > limit) || (got.File != nil) != got.Truncated {
			t.Fatalf("%d bytes in a window of %d: %+v", len(s), limit, got)
		}
		if got.File != nil {
			if b, err := os.ReadFile(got.File.Path); err != nil || string(b) != s {
				t.Fatalf("the file has %q, want %q (%v)", b, s, err)
			}
			_ = os.Remove(got.File.Path)
		}
		want := last(text([]byte(s)), limit)
		if utf8.ValidString(s) && got.Text != want || len(got.Text) > limit {
			t.Fatalf("the text is %q, want %q", got.Text, want)
		}
		if got.TotalBytes != int64(len(s)) || got.TotalLines != lineCount(int64(strings.Count(s, "\n")), int64(len(s))) {
			t.Fatalf("%+v of %q", got, s)
		}
	})
}

func TestR227_ALargeOutputGoesIntoAFileAtTheThreshold(t *testing.T) {
	is(t, "threshold", LargeBytes, 20_480)
	env := map[string]string{}
	lookup := func(name string) string { return env[name] }
	is(t, "default", LargeThreshold(lookup), 20_480)
	env["COPILOT_LARGE_OUTPUT_THRESHOLD_BYTES"] = "70"
	is(t, "the family's name", LargeThreshold(lookup), 70)
	env["TROUPE_LARGE_OUTPUT_THRESHOLD_BYTES"] = "90"
	is(t, "ours first", LargeThreshold(lookup), 90)
	env["TROUPE_LARGE_OUTPUT_THRESHOLD_BYTES"] = "-1"
	is(t, "positive", LargeThreshold(lookup), 70)

	l := NewSpillBuffer(LargeBytes, LargeHead, LargeTail, intoDir(t))
	small := strings.Repeat("é", LargeBytes/2)
	_, _ = io.WriteString(l, small)
	if r := l.Result(); r.Large || r.Text != small || r.File != nil || r.Bytes != LargeBytes {
		t.Fatalf("at the threshold: large %v, %d bytes", r.Large, r.Bytes)
	}
	_, _ = io.WriteString(l, "🇩x")
	r := l.Close()
	if !r.Large || r.Text != "" || r.Bytes != LargeBytes+5 {
		t.Fatalf("above the threshold: large %v, %d bytes", r.Large, r.Bytes)
	}
	is(t, "head", r.Head, strings.Repeat("é", 500))
	is(t, "tail", r.Tail, strings.Repeat("é", 126)+"🇩x")
	is(t, "file", content(t, r.File.Path), small+"🇩x")

	tiny := NewSpillBuffer(3, 5, 2, nil)
	_, _ = io.WriteString(tiny, "a\xffb€")
	if r := tiny.Close(); r.Head != "a\uFFFDb€" || r.Tail != "b€" || r.File != nil {
		t.Fatalf("%+v", r)
	}

	d := newDir(t, t.TempDir(), "s")
	now := time.UnixMilli(1700)
	f, err := d.CreateNew(func(int) string { return LargeName(now) })
	if !regexp.MustCompile(`^troupe-tool-output-1700-[a-z0-9]{6}\.txt$`).MatchString(must(t, f, err).Name) {
		t.Fatalf("the file is called %s", f.Name)
	}
	if again := LargeName(now); again == LargeName(now) {
		t.Fatal("a name came twice")
	}
}

func TestR174_AFileTakesSoMuch(t *testing.T) {
	is(t, "cap", PersistBytes, 100*1024*1024)
	open := intoDir(t)
	w := NewTailBuffer(4, func() (*File, error) {
		f, err := open()
		if err == nil {
			f.Max = 10
		}
		return f, err
	})
	_, _ = io.WriteString(w, "0123")
	_, _ = io.WriteString(w, "456789a")
	_, _ = io.WriteString(w, "bc")
	s := w.Close("")
	is(t, "file", content(t, s.File.Path), "0123456789")
	is(t, "size", s.File.Size(), 10)
	is(t, "tail", s.Text, "9abc")
}
