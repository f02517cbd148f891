package artifact

import (
	"bytes"
	"context"
	"reflect"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/rivo/uniseg"
)

// FuzzPage: a page of any file is what it would be with all of it in memory.
func FuzzPage(f *testing.F) {
	f.Add("a\nb\r\nc", int64(1), 2, 3, 100, 7, false)
	f.Add("e\u0301\xff\xe2\x82\n\r\r\n🇩🇪🇫", int64(0), 0, 1, 1, 0, true)
	f.Add("", int64(3), 1, 1, 1, 1, true)
	f.Fuzz(func(t *testing.T, s string, offset int64, limit, lineMax, bytes, overhead int, lastEmpty bool) {
		if !small(s) {
			return
		}
		o := PageOptions{Limit: limit % 50, LineMax: lineMax % 500, Bytes: 1 + (bytes&0xffff)%5000, Overhead: (overhead & 0xff) % 20}
		offset = max(0, offset%100)
		r := NewReader(strings.NewReader(s), int64(len(s)), ReaderOptions{LastEmpty: lastEmpty})
		got, want := page(t, r, offset, o), modelPage(s, lastEmpty, offset, o)
		if got.Total >= 0 && want.Total < 0 {
			got.Total = -1
		}
		if !reflect.DeepEqual(got, want) {
			t.Fatalf("the page from %d of %q with %+v is\n%+v, want\n%+v", offset, s, o, got, want)
		}
		for i, line := range modelLines(s, lastEmpty) {
			want := modelPart(line, offset, 7)
			want.Number = int64(i)
			if got := part(t, r, int64(i), offset, 7); got != want {
				t.Fatalf("%+v of %q, want %+v", got, line, want)
			}
		}
	})
}

// small says whether a text is one that the models can deal with.
func small(s string) bool {
	if len(s) > 4096 {
		return false
	}
	for g := uniseg.NewGraphemes(text([]byte(s))); g.Next(); {
		if len(g.Bytes()) > 300 { // U+FFFD is three times what it stands for
			return false
		}
	}
	return true
}

// FuzzGrep: a search of any file is what it would be with all of it in memory.
func FuzzGrep(f *testing.F) {
	f.Add("a\nfoo\nb\r\nfoo", "foo", false, 1, 1, 1, false)
	f.Add("a\nb\n\n", "^$", true, 0, 2, 9, true)
	f.Fuzz(func(t *testing.T, s, what string, regex bool, before, after, most int, lastEmpty bool) {
		if !small(s) {
			return
		}
		if _, err := newPattern(what, regex); err != nil {
			return
		}
		o := GrepOptions{Regex: regex, Before: (before & 0xff) % 9, After: (after & 0xff) % 9, Max: 1 + (most&0xff)%9, LineMax: 30, Bytes: 1 << 30}
		r := NewReader(strings.NewReader(s), int64(len(s)), ReaderOptions{LastEmpty: lastEmpty})
		if got, want := grep(t, r, what, o), modelGrep(s, lastEmpty, what, o); !reflect.DeepEqual(got, want) {
			t.Fatalf("%q in %q with %+v is\n%+v, want\n%+v", what, s, o, got, want)
		}
		o.Bytes = 40
		_ = grep(t, r, what, o)
	})
}

// FuzzClean: what models read is clean, however a stream is cut, and so is a window of it.
func FuzzClean(f *testing.F) {
	f.Add([]byte("\x1b[31mred\x1b[0m\r\n\xe2\x82\xac"), uint8(3), false, false)
	f.Add([]byte("a\x1b]0;t\x07"+picture+"\u202e\xff"), uint8(1), true, true)
	f.Fuzz(func(t *testing.T, in []byte, n uint8, final, sixel bool) {
		o := CleanOptions{Final: final, Sixel: sixel && !final}
		var whole, cut bytes.Buffer
		w := NewTailBuffer(20, nil)
		c := NewTextCleaner(&cut, o)
		for rest := in; len(rest) > 0; {
			k := min(len(rest), int(n)%9+1)
			_, _ = c.Write(rest[:k])
			_, _ = w.Write(rest[:k])
			rest = rest[k:]
		}
		_ = c.Close()
		whole.WriteString(CleanText(string(in), o))
		if whole.String() != cut.String() {
			t.Fatalf("%q is %q, in pieces %q", in, whole.String(), cut.String())
		}
		clean(t, cut.String(), o)
		if s := w.Close("").Text; len(s) > 20 || !utf8.ValidString(s) {
			t.Fatalf("the window of %q is %q", in, s)
		}
	})
}

// FuzzEnds: the ends of any text keep to their bytes and count its lines.
func FuzzEnds(f *testing.F) {
	f.Add("a\nb\nc\nd", 1, 1, 10)
	f.Add("€€€€€€\xff\n", 0, 3, 7)
	f.Fuzz(func(t *testing.T, s string, head, tail, size int) {
		o := HeadTailOptions{Head: (head & 0xff) % 20, Tail: (tail & 0xff) % 20, Bytes: 1 + (size&0xffff)%3000}
		e := HeadTailOf(s, o)
		lines, err := CountLines(context.Background(), strings.NewReader(s), int64(len(s)))
		if err != nil || e.Total != lines || e.HeadLines+e.TailLines+e.Omitted != lines {
			t.Fatalf("%+v of %d lines (%v)", e, lines, err)
		}
		if len(e.Head)+len(e.Tail) > o.Bytes || !utf8.ValidString(e.Head+e.Tail) {
			t.Fatalf("%+v within %+v", e, o)
		}
		if e.Whole() && e.Head != text([]byte(s)) {
			t.Fatalf("%+v is said to be all of %q", e, s)
		}
	})
}
