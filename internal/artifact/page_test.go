package artifact

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
	"pgregory.net/rapid"
)

// view are the options of opencode's view.
var viewOptions = PageOptions{Limit: ViewLines, LineMax: ViewChars}

func TestR184_APageIsAWindowOfTheFile(t *testing.T) {
	is(t, "lines", ViewLines, 2000)
	is(t, "window", DefaultPageBytes, 256_000)
	s := numbered(5000)
	p := page(t, reader(s), 0, viewOptions)
	is(t, "lines shown", len(p.Lines), 2000)
	is(t, "the last", p.Lines[1999].Text, "line 2000")
	is(t, "go on", p.Next, 2000)
	is(t, "more", p.More && !p.Full && !p.Past, true)
	p = page(t, reader(s), 4990, viewOptions)
	is(t, "first of an offset", p.Lines[0], Line{Number: 4990, Text: "line 4991"})
	is(t, "the end", p.More, false)
	is(t, "total", p.Total, 5000)

	wide := strings.Repeat(strings.Repeat("w", 1000)+"\n", 1000)
	p = page(t, reader(wide), 100, viewOptions)
	is(t, "a window full", len(p.Lines), 256_000/1001)
	is(t, "full", p.Full && p.More, true)
	is(t, "go on behind it", p.Next, 100+256_000/1001)

	for n, cut := range map[int]bool{2000: false, 2001: true} {
		p = page(t, reader(strings.Repeat("€", n)), 0, viewOptions)
		is(t, "characters", p.Lines[0].Text, strings.Repeat("€", 2000))
		is(t, "cut", p.Lines[0].Cut, cut)
		is(t, "cut lines", len(p.Cut) == 1, cut)
	}
}

func TestR185_WhatCannotBeViewedIsSaid(t *testing.T) {
	dir := t.TempDir()
	put(t, dir, "bash-1-stdout.txt", "bash-1-stderr.txt", "Bash-1", "bash", "other")
	if _, _, err := OpenFile(""); !errors.Is(err, ErrNoPath) {
		t.Error(err)
	}
	var missing *Missing
	_, _, err := OpenFile(filepath.Join(dir, "bash-1"))
	if !errors.As(err, &missing) || !errors.Is(err, fs.ErrNotExist) || missing.Path != filepath.Join(dir, "bash-1") {
		t.Fatal(err)
	}
	is(t, "similar", len(missing.Similar), 3)
	link := filepath.Join(t.TempDir(), "link")
	if err := os.Symlink("nowhere", link); err != nil {
		t.Fatal(err)
	}
	if _, _, err = OpenFile(link); !errors.As(err, &missing) || len(missing.Similar) != 0 {
		t.Errorf("a link to nothing: %v, like %v", err, missing.Similar)
	}
	_, _, err = OpenFile(filepath.Join(dir, "none", "x"))
	if !errors.As(err, &missing) || len(missing.Similar) != 0 {
		t.Fatal(err)
	}
	if _, _, err := OpenFile(dir); !errors.Is(err, ErrDirectory) {
		t.Error(err)
	}
	if err := unix.Mkfifo(filepath.Join(dir, "queue"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := OpenFile(filepath.Join(dir, "queue")); !errors.Is(err, ErrNotAFile) { // and does not wait
		t.Error(err)
	}
	f, size, err := OpenFile(filepath.Join(dir, "other"))
	defer must(t, f, err).Close()
	is(t, "size", size, 5)
	is(t, "picture", IsImage("/x/a.PNG"), true)
	is(t, "text", IsImage("/x/png.txt"), false)

	p := page(t, reader("a\nb\nc\n"), 1, PageOptions{Limit: 1})
	is(t, "numbers for %6d|", fmt.Sprintf("%6d|%s", p.Lines[0].Number+1, p.Lines[0].Text), "     2|b")
	is(t, "the hint's last line", p.Next, 2)
	is(t, "the hint", p.More, true)
}

func TestR186_SizeNeverMattersAndTheCountIsRight(t *testing.T) {
	for _, c := range []struct {
		text  string
		limit int
		more  bool
		total int64
	}{
		{"a\nb\n", 2, false, 2},
		{"a\nb", 2, false, 2},
		{"a\nb\nc", 2, true, -1},
		{"a\nb\n\n", 2, true, -1},
		{"a\r\nb\r\n", 2, false, 2},
		{"", 2, false, 0},
		{"\n", 1, false, 1},
	} {
		p := page(t, reader(c.text), 0, PageOptions{Limit: c.limit})
		if p.More != c.more || p.Total != c.total {
			t.Errorf("%q: %+v", c.text, p)
		}
	}
	long := strings.Repeat("x", 70_000)
	p := page(t, reader("a\n"+long+"\r\nz"), 0, PageOptions{})
	is(t, "a line over 64 KB", p.Lines[1].Text, long)
	is(t, "the one behind it", p.Lines[2].Text, "z")
	p = page(t, reader(strings.Repeat("x", 300_000)+"\nz"), 0, PageOptions{})
	is(t, "a line over the window", len(p.Lines[0].Text), DefaultPageBytes-1)
	if len(p.Lines) != 1 || !p.Full || !p.More || p.Next != 1 || !p.Lines[0].Cut {
		t.Fatalf("%d lines, full %v, more %v, next %d", len(p.Lines), p.Full, p.More, p.Next)
	}
}

func TestR260_PagesOfACachedOutput(t *testing.T) {
	is(t, "characters", CacheChars, 1000)
	is(t, "bytes", CacheBytes, 65_536)
	o := PageOptions{Limit: 5, LineMax: CacheChars, Bytes: CacheBytes, Overhead: len("    1  ")}
	family := "👨\u200d👩\u200d👧"
	s := strings.Repeat(family, 1000) + "\n" + strings.Repeat(family, 1001) + "\n" + strings.Repeat("x\n", 10)
	p := page(t, reader(s), 0, o)
	is(t, "1,000 characters", p.Lines[0], Line{Text: strings.Repeat(family, 1000)})
	is(t, "one more", p.Lines[1], Line{Number: 1, Text: strings.Repeat(family, 1000), Cut: true})
	is(t, "which were cut", fmt.Sprint(p.Cut), "[1]")
	is(t, "numbers for %5d", fmt.Sprintf("%5d  %s", p.Lines[2].Number+1, p.Lines[2].Text), "    3  x")
	is(t, "more", p.More && p.Next == 5 && !p.Full, true)

	big := strings.Repeat(strings.Repeat("y", 1000)+"\n", 100)
	p = page(t, reader(big), 0, PageOptions{LineMax: CacheChars, Bytes: CacheBytes, Overhead: 7})
	is(t, "cut by size", p.Full && p.More, true)
	is(t, "lines", len(p.Lines), CacheBytes/1008)
	is(t, "go on", p.Next, CacheBytes/1008)

	p = page(t, reader("a\nb"), 2, o)
	is(t, "past the end", p.Past && p.Total == 2 && len(p.Lines) == 0 && !p.More, true)
	broken := NewReader(strings.NewReader("short"), 100, ReaderOptions{})
	if _, err := broken.Page(context.Background(), 7, o); err == nil {
		t.Error("a file that is shorter than it was is read without an error")
	}
	if _, err := broken.Page(context.Background(), 0, o); err == nil {
		t.Error("so is its beginning")
	}
}

func TestR262_CacheFilesAndTheirLines(t *testing.T) {
	is(t, "file", CacheName("call/../1:x-y_Z"), "call____1_x-y_Z.txt")
	r := NewReader(strings.NewReader("a\n"), 2, ReaderOptions{LastEmpty: true})
	p := page(t, r, 0, PageOptions{})
	is(t, "a newline at the end is a line", strings.Join(texts(p.Lines), "|"), "a|")
	is(t, "total", p.Total, 2)
	p = page(t, r, 0, PageOptions{Limit: 1})
	is(t, "more", p.More, true)
	n, err := r.Count(context.Background())
	is(t, "count", must(t, n, err), 2)

	env := map[string]string{}
	lookup := func(name string) string { return env[name] }
	is(t, "defaults", CacheLimitsFrom(lookup), CacheLimits{1000, 65_536, 65_536})
	env["CODELIA_TOOL_OUTPUT_CACHE_MAX_LINE_LENGTH"] = "1"
	env["CODELIA_TOOL_OUTPUT_CACHE_MAX_READ_BYTES"] = "2"
	env["CODELIA_TOOL_OUTPUT_CACHE_MAX_GREP_BYTES"] = "3"
	is(t, "the family's names", CacheLimitsFrom(lookup), CacheLimits{1, 2, 3})
	env["TROUPE_OUTPUT_CACHE_MAX_READ_BYTES"] = "20"
	env["TROUPE_OUTPUT_CACHE_MAX_GREP_BYTES"] = "many"
	is(t, "ours first", CacheLimitsFrom(lookup), CacheLimits{1, 20, 3})
}

func TestR259_HeadTailOrOffset(t *testing.T) {
	n := func(n int64) *int64 { return &n }
	for _, c := range []struct {
		s  Selection
		ok bool
	}{
		{Selection{}, true},
		{Selection{Offset: n(0)}, true},
		{Selection{Offset: n(3), Limit: n(1)}, true},
		{Selection{Head: n(1)}, true},
		{Selection{Tail: n(9)}, true},
		{Selection{Offset: n(-1)}, false},
		{Selection{Limit: n(0)}, false},
		{Selection{Head: n(0)}, false},
		{Selection{Tail: n(-1)}, false},
		{Selection{Head: n(1), Tail: n(1)}, false},
		{Selection{Head: n(1), Limit: n(1)}, false},
		{Selection{Tail: n(1), Offset: n(0)}, false},
	} {
		if err := c.s.Check(); (err == nil) != c.ok || err != nil && err.Error() != "invalid params" {
			t.Errorf("%+v: %v", c.s, err)
		}
	}
	r := reader("a\nb\nc\n")
	total, err := r.Count(context.Background())
	p := page(t, r, must(t, total, err)-2, PageOptions{})
	is(t, "the last two", strings.Join(texts(p.Lines), "|"), "b|c")
}

// Each page is what it would be if all of the file were in memory, wherever chunks end,
// and pages that follow each other are the file.
func TestPagesOfAnyFile(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		s, lastEmpty := anyText(t, 60), rapid.Bool().Draw(t, "last empty")
		r := NewReader(strings.NewReader(s), int64(len(s)), ReaderOptions{LastEmpty: lastEmpty})
		o := PageOptions{
			Limit: rapid.IntRange(0, 9).Draw(t, "limit"), LineMax: rapid.IntRange(0, 12).Draw(t, "line"),
			Bytes: rapid.SampledFrom([]int{1, 7, 30, 100, 1 << 20}).Draw(t, "bytes"), Overhead: rapid.IntRange(0, 8).Draw(t, "overhead"),
		}
		offset := rapid.Int64Range(0, 30).Draw(t, "offset")
		for range 4 {
			want := modelPage(s, lastEmpty, offset, o)
			got := page(t, r, offset, o)
			if got.Total < 0 || want.Total < 0 {
				got.Total, want.Total = 0, 0 // it may be known from before
			}
			if !reflect.DeepEqual(got, want) {
				t.Fatalf("the page from %d of %q with %+v is\n%+v, want\n%+v", offset, brief(s), o, got, want)
			}
			if offset = got.Next; !got.More {
				break
			}
		}
		n, err := r.Count(context.Background())
		if want := len(modelLines(s, lastEmpty)); err != nil || n != int64(want) {
			t.Fatalf("%d lines, want %d (%v)", n, want, err)
		}
	})
}

// Whatever is hard to cut is read right where a chunk ends in it.
func TestBordersOfChunks(t *testing.T) {
	for _, piece := range append([]string{"needle"}, pieces...) {
		for short := range 9 {
			front := int64(chunk - short - 2) // of "x", which the model is spared
			back := "xx" + piece + strings.Repeat("x", 2*maxCluster) + "\nend"
			s := strings.Repeat("x", int(front)) + back
			line := modelLines(back, false)[0]
			want := modelPart(line, 0, 20)
			want.Length, want.From, want.To = want.Length+front, want.From+front, want.To+front
			whole := part(t, reader(s), 0, 0, 1)
			if got := part(t, reader(s), 0, front, 20); got != want || whole.Length != want.Length {
				t.Fatalf("%q, %d before the border: %+v of %d, want %+v", piece, short, got, whole.Length, want)
			}
			text, cut, _ := modelLine(line, 4, 1<<20)
			got := page(t, reader(s), 0, PageOptions{LineMax: int(front) + 4, Bytes: 1 << 20}).Lines[0]
			if got.Text[front:] != text || got.Cut != cut {
				t.Fatalf("%q, %d before the border: %q, want %q", piece, short, got.Text[front:], text)
			}
			what := strings.Trim(piece, "\r\n")
			if what == "" || strings.Contains(what, "\n") {
				continue
			}
			m := grep(t, reader(s), what, GrepOptions{LineMax: 1})
			if m.Found != 1 || m.Blocks[0][0].Column > front+2 || m.Blocks[0][0].Column < front+1 {
				t.Fatalf("%q, %d before the border, is found in %+v", what, short, m)
			}
		}
	}
}

func brief(s string) string {
	if len(s) > 300 {
		return s[:300] + "…"
	}
	return s
}

func TestAReaderIsStopped(t *testing.T) {
	ctx, stop := context.WithCancel(context.Background())
	stop()
	r := reader(numbered(10))
	_, perr := r.Page(ctx, 5, PageOptions{})
	_, lerr := r.Line(ctx, 5, 0, 0)
	_, gerr := r.Grep(ctx, "x", GrepOptions{})
	_, cerr := r.Count(ctx)
	_, werr := CountLines(ctx, strings.NewReader("a"), 1)
	for _, err := range []error{perr, lerr, gerr, cerr, werr} {
		if !errors.Is(err, context.Canceled) {
			t.Error(err)
		}
	}
	is(t, "lines", must(t, page(t, r, 0, PageOptions{}).Total, nil), 10)
	n, err := CountLines(context.Background(), strings.NewReader("a\nb"), 3)
	is(t, "counted", must(t, n, err), 2)
}
