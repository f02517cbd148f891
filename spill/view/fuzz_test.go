package view

import (
	"bytes"
	"strings"
	"testing"
	"unicode/utf8"

	"troupe/spill"
)

// FuzzViews: whatever a log holds, every view is bounded, is UTF-8, shows what is
// there and shows no gap as bytes.
func FuzzViews(f *testing.F) {
	f.Add([]byte("one\ntwo\nthree €\n"), uint16(4), uint16(4), uint16(9), uint8(2), true)
	f.Add([]byte("\xff\xfe\x00\x80\x80\x80\xe2\x82"), uint16(1), uint16(0), uint16(5), uint8(1), false)
	f.Add(bytes.Repeat([]byte("long "), 40), uint16(50), uint16(100), uint16(33), uint8(3), false)
	f.Fuzz(func(t *testing.T, data []byte, from, length, window uint16, n uint8, open bool) {
		data = bytes.ReplaceAll(data, []byte{0}, []byte{'0'}) // a NUL comes from a gap only
		log := &fake{data: data, open: open}
		if a, b := int64(from), min(int64(len(data)), int64(from)+int64(length)); a < b {
			log.gaps = []spill.Gap{{From: a, To: b}}
		}
		o := Options{Bytes: int(window)%200 + 2}
		lines := counted(t, log)
		for _, style := range []Style{Verbatim, Plain, Coloured, Final} {
			o.Style, o.Cols = style, int(n)%20
			tail, err := Tail(log, o)
			check(t, log, must(t, tail, err), o)
			tail, err = TailLines(log, lines, int(n), o)
			check(t, log, must(t, tail, err), o)
			both, err := HeadTail(log, lines, int(n), int(n), o)
			check(t, log, must(t, both, err), o)
			page, err := Page(log, lines, int64(n), int(n)/2, o)
			check(t, log, must(t, page, err), o)
			part, err := Text(log, int64(from), int64(length), o)
			check(t, log, must(t, part, err), o)
		}
	})
}

func check(t *testing.T, log *fake, v View, o Options) {
	t.Helper()
	if !utf8.ValidString(v.Text) {
		t.Fatalf("%q is not UTF-8", v.Text)
	}
	if strings.Contains(v.Text, "\x00") {
		t.Fatalf("%q shows a gap as NULs", v.Text)
	}
	shown, all, at := 0, "", v.From
	for _, s := range v.Spans {
		if s.From > s.To || s.From < at || s.To > int64(len(log.data)) {
			t.Fatalf("the spans are out of order: %+v", v.Spans)
		}
		at = s.To
		all += s.Text
		if s.Kind != Shown {
			if !v.Truncated {
				t.Fatalf("something is left out, and the view does not say so: %+v", v)
			}
			continue
		}
		shown += len(s.Text)
		raw := log.data[s.From:s.To]
		if o.Style == Verbatim && s.Text != valid(raw) {
			t.Fatalf("the span shows %q, there is %q", s.Text, raw)
		}
		if o.Style != Verbatim {
			safe(t, s.Text, o.Style == Coloured)
		}
		for _, g := range log.gaps {
			if s.From < g.To && g.From < s.To {
				t.Fatalf("%+v shows a part of the gap %+v", s, g)
			}
		}
	}
	if all != v.Text {
		t.Fatalf("the spans are %q, the text is %q", all, v.Text)
	}
	extra := 0
	if o.Style == Coloured {
		extra = len(v.Spans) * len(resetSGR)
	}
	if shown > o.Bytes+extra {
		t.Fatalf("%d bytes of text in a window of %d", shown, o.Bytes)
	}
	if v.Part == All && v.From != 0 {
		t.Fatalf("%+v is all", v)
	}
}

// Pages one after the other are the whole log.
func FuzzPages(f *testing.F) {
	f.Add([]byte("one\ntwo\n\nfour"), uint8(2))
	f.Add(bytes.Repeat([]byte("x\n"), 300), uint8(7))
	f.Fuzz(func(t *testing.T, data []byte, limit uint8) {
		data = data[:min(len(data), 1<<12)]
		log := &fake{data: data}
		lines := counted(t, log)
		n, exact := lines.Count()
		if want := int64(strings.Count(string(data), "\n")); !exact || n != want && n != want+1 {
			t.Fatalf("counted %d lines, want %d or one more", n, want)
		}
		step := int64(limit)%9 + 1
		got := ""
		for line := int64(1); line <= n; line += step {
			v, err := Page(log, lines, line, int(step), Options{Bytes: MaxBytes})
			v = must(t, v, err)
			if v.Line != line {
				t.Fatalf("the page from %d says it begins with %d", line, v.Line)
			}
			got += v.Text
		}
		if got != valid(data) {
			t.Fatalf("the pages are %q, the log is %q", got, data)
		}
	})
}
