package artifact

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

const (
	fiveGB = 5 << 30
	longMB = 200 << 20
)

// sparse is a file of 5 GB with lines at its beginning and at its end; what is between
// them is one line of 5 GB.
func sparse(t *testing.T) (*counting, int64) {
	t.Helper()
	f, err := os.Create(filepath.Join(t.TempDir(), "sparse"))
	must(t, f, err)
	t.Cleanup(func() { _ = f.Close() })
	head, tail := numbered(1000), "\n"+numbered(1000)
	size := int64(fiveGB)
	_, herr := f.WriteAt([]byte(head), 0)
	n, err := f.WriteAt([]byte(tail), size-int64(len(tail)))
	if must(t, n, err); herr != nil {
		t.Fatal(herr)
	}
	return &counting{ReaderAt: f}, size
}

// allocated is how many bytes a call asks for, all in all.
func allocated(call func()) uint64 {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	call()
	runtime.ReadMemStats(&after)
	return after.TotalAlloc - before.TotalAlloc
}

func TestPagesOfFiveGB(t *testing.T) {
	f, size := sparse(t)
	r := NewReader(f, size, ReaderOptions{})
	p := page(t, r, 0, PageOptions{Limit: 100})
	is(t, "first page", p.Lines[99].Text, "line 100")
	p = page(t, r, 900, PageOptions{Limit: 100})
	is(t, "another near the beginning", p.Lines[99].Text, "line 1000")
	if read := f.bytes.Load(); read > 2<<20 {
		t.Fatalf("%d bytes were read for two pages near the beginning", read)
	}
	ends, err := ReadHeadTail(f, size, 2001, HeadTailOptions{Head: EndLines, Tail: EndLines})
	is(t, "both ends", must(t, ends, err).Omitted, 1001)
	if read := f.bytes.Load(); read > 3<<20 {
		t.Fatalf("%d bytes were read for the ends", read)
	}

	var deep Page
	used := allocated(func() { deep = page(t, r, 1001, PageOptions{Limit: 1000}) })
	is(t, "a page deep inside", deep.Lines[999].Text, "line 1000")
	is(t, "the end", deep.More, false)
	is(t, "total", deep.Total, 2001)
	if used > 4<<20 {
		t.Fatalf("%d bytes of memory for a page deep inside", used)
	}
	read := f.bytes.Load()
	again := page(t, r, 1500, PageOptions{Limit: 1})
	is(t, "again", again.Lines[0].Text, "line 500")
	if more := f.bytes.Load() - read; more > 1<<20 {
		t.Fatalf("%d bytes were read to find a place again", more)
	}
	m, err := r.Grep(context.Background(), "line 777", GrepOptions{From: 1001})
	is(t, "found", must(t, m, err).Blocks[0][0].Number, 1777)
}

// A single line of 200 MB, of letters with an accent here and there: what is looked
// for is near its end.
func longLine() made {
	letters := bytes.Repeat([]byte("a"), chunk)
	return made{size: longMB, at: func(p []byte, off int64) {
		for n := 0; n < len(p); n += chunk {
			copy(p[n:], letters)
		}
		put := func(at int64, s string) {
			for i := range len(s) {
				if k := at + int64(i) - off; k >= 0 && k < int64(len(p)) {
					p[k] = s[i]
				}
			}
		}
		put(0, "head ")
		put(chunk-1, "e\u0301") // over the border of a chunk
		put(longMB-100, "needle")
	}}
}

func TestASingleLineOf200MB(t *testing.T) {
	f := longLine()
	ctx := context.Background()
	bound := func(what string, limit uint64, call func() error) {
		t.Helper()
		var err error
		used := allocated(func() { err = call() })
		t.Logf("%s: %d KiB", what, used>>10)
		if err != nil || used > limit {
			t.Errorf("%s: %d bytes of memory, %v", what, used, err)
		}
	}
	r := NewReader(f, f.size, ReaderOptions{})
	bound("a page", 1<<20, func() error {
		p, err := r.Page(ctx, 0, PageOptions{LineMax: ViewChars})
		if len(p.Lines) != 1 || len(p.Lines[0].Text) != ViewChars || !p.Lines[0].Cut || p.More {
			t.Errorf("%d lines, more %v", len(p.Lines), p.More)
		}
		return err
	})
	bound("a part of the line", 1<<20, func() error {
		p, err := r.Line(ctx, 0, longMB-110, 20)
		if p.Length != longMB-2 || p.Text != "aaaaaaaaneedleaaaaaa" {
			t.Errorf("%d characters, %q", p.Length, p.Text)
		}
		return err
	})
	for _, regex := range []bool{false, true} {
		bound(fmt.Sprint("a search, by expression: ", regex), 2<<20, func() error {
			m, err := r.Grep(ctx, "needle", GrepOptions{LineMax: 100, Regex: regex})
			if m.Found != 1 || m.Blocks[0][0].Column != longMB-102 {
				t.Errorf("%+v", m)
			}
			return err
		})
	}
	bound("its ends", 1<<20, func() error {
		e, err := ReadHeadTail(f, f.size, 1, HeadTailOptions{Head: EndLines, Tail: EndLines})
		if !strings.HasPrefix(e.Head, "head aaa") || !strings.HasSuffix(e.Head, "needle"+strings.Repeat("a", 94)) || e.Cut < longMB-WindowBytes {
			t.Errorf("%d bytes, %d cut", len(e.Head), e.Cut)
		}
		return err
	})
	open := intoDir(t)
	bound("a window", 1<<20, func() error {
		w := NewTailBuffer(WindowBytes, func() (*File, error) {
			file, err := open()
			if err == nil {
				file.Max = 1 << 20
			}
			return file, err
		})
		n, err := io.Copy(NewTextCleaner(w, CleanOptions{}), io.NewSectionReader(f, 0, f.size))
		if s := w.Close(""); n != longMB || s.TotalBytes != longMB || s.OutputBytes != WindowBytes || s.File.Size() != 1<<20 {
			t.Errorf("%d bytes, %+v", n, s.TotalBytes)
		}
		return err
	})
}

// An expression that has no text to look for first reads a long line rune by rune.
func TestAnExpressionOnALineLongerThanABuffer(t *testing.T) {
	const size = 1 << 20
	f := made{size: size, at: longLine().at}
	r := NewReader(f, size, ReaderOptions{})
	var m Matches
	used := allocated(func() { m = grep(t, r, "(x|e)\u0301a+$", GrepOptions{Regex: true, LineMax: 10}) })
	if m.Found != 1 || m.Blocks[0][0].Column != chunk-1 || used > 2<<20 {
		t.Fatalf("%+v, %d bytes of memory", m, used)
	}
	is(t, "none", grep(t, r, "z|needle", GrepOptions{Regex: true}).Found, 0)
	is(t, "the end", grep(t, r, "a$", GrepOptions{Regex: true, LineMax: 1}).Found, 1)
}
