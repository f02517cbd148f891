package view

import (
	"bytes"
	"io"
	"unicode/utf8"

	"troupe/spill"
)

// maxPartial is the largest length of an incomplete rune.
const maxPartial = utf8.UTFMax - 1

// wholeFrom returns how many bytes at the beginning of p belong to a rune that begins
// in before, the bytes in front of it.
func wholeFrom(before, p []byte) int {
	for i := len(before) - 1; i >= 0 && i >= len(before)-maxPartial; i-- {
		if !utf8.RuneStart(before[i]) {
			continue
		}
		both := append(append([]byte(nil), before[i:]...), p[:min(len(p), maxPartial)]...)
		_, size := utf8.DecodeRune(both)
		return max(0, size-(len(before)-i))
	}
	return 0
}

// afterGap returns how many bytes at the beginning of p look like the rest of a rune
// that a gap has cut.
func afterGap(p []byte) int {
	n := 0
	for n < len(p) && n < maxPartial && !utf8.RuneStart(p[n]) {
		n++
	}
	return n
}

// wholeTo returns the length of p without an incomplete rune at its end.
func wholeTo(p []byte) int {
	for i := len(p) - 1; i >= 0 && i >= len(p)-maxPartial; i-- {
		if !utf8.RuneStart(p[i]) {
			continue
		}
		if !utf8.FullRune(p[i:]) {
			return i
		}
		break
	}
	return len(p)
}

// cost returns the length of a rune in a text.
func cost(r rune, size int, style Style) int64 {
	if r == utf8.RuneError && size == 1 {
		return int64(len("\uFFFD"))
	}
	if style != Verbatim && bidi(r) {
		return int64(len(`\u202e`))
	}
	return int64(size)
}

// suffix returns where the longest end of p begins whose text has at most n bytes. left
// is the unused part of n.
func suffix(p []byte, n int64, style Style) (at int, left int64) {
	if style == Verbatim && int64(len(p)) <= n && utf8.Valid(p) {
		return 0, n - int64(len(p))
	}
	at = len(p)
	for at > 0 {
		r, size := utf8.DecodeLastRune(p[:at])
		c := cost(r, size, style)
		if n < c {
			break
		}
		n -= c
		at -= size
	}
	return at, n
}

// prefix returns where the longest beginning of p ends whose text has at most n bytes.
// left is the unused part of n.
func prefix(p []byte, n int64, style Style) (at int, left int64) {
	if style == Verbatim && int64(len(p)) <= n && utf8.Valid(p) {
		return len(p), n - int64(len(p))
	}
	for at < len(p) {
		r, size := utf8.DecodeRune(p[at:])
		c := cost(r, size, style)
		if n < c {
			break
		}
		n -= c
		at += size
	}
	return at, n
}

// valid returns p as UTF-8, with each invalid byte replaced.
func valid(p []byte) string {
	if utf8.Valid(p) {
		return string(p)
	}
	out := make([]byte, 0, len(p)+len(p)/8)
	for len(p) > 0 {
		r, size := utf8.DecodeRune(p)
		out = utf8.AppendRune(out, r)
		p = p[size:]
	}
	return string(out)
}

// render returns the text of spans. It leaves out runes that a gap or the bounds of the
// view cut. An incomplete rune at the end of a closed log is shown as U+FFFD, since the
// job wrote it so. Bytes whose meaning depends on what follows are left to the next
// view.
func render(log spill.Log, spans []span, st spill.State, style Style) ([]Span, error) {
	var c Cleaner
	var out []Span
	for i, s := range spans {
		c = Cleaner{Colours: style == Coloured}
		if s.gap {
			out = append(out, Span{Kind: Missing, From: s.from, To: s.to, Text: GapText(s.to - s.from)})
			continue
		}
		n := 0
		if i > 0 {
			n = afterGap(s.data)
		} else if s.from > 0 {
			before, err := c.warm(log, s.from, style)
			if err != nil {
				return nil, err
			}
			n = wholeFrom(before, s.data)
		}
		s.from, s.data = s.from+int64(n), s.data[n:]
		if last := i == len(spans)-1; !last || s.to < st.Size || !st.Closed {
			n := wholeTo(s.data)
			if style != Verbatim && last {
				n -= c.holds(s.data[:n])
			}
			s.data, s.to = s.data[:n], s.from+int64(n)
		}
		out = append(out, Span{From: s.from, To: s.to, Text: c.text(s.data, style)})
	}
	return out, nil
}

func (c *Cleaner) text(p []byte, style Style) string {
	if style == Verbatim {
		return valid(p)
	}
	return string(c.End(c.Append(nil, p)))
}

// holds returns how many of the last bytes of p would be held, without changing c.
func (c *Cleaner) holds(p []byte) int {
	try := *c
	try.seq = bytes.Clone(c.seq)
	try.Append(nil, p)
	return try.Held()
}

// warm sets the state that the bytes before from leave in a terminal, and returns the
// last of them.
func (c *Cleaner) warm(log spill.Log, from int64, style Style) (before []byte, err error) {
	at := max(0, from-maxPartial)
	if style != Verbatim {
		if at, err = lastEscape(log, from); err != nil {
			return nil, err
		}
	}
	spans, _, err := fetch(log, at, from)
	if err != nil || len(spans) == 0 || spans[len(spans)-1].gap {
		return nil, err
	}
	before = spans[len(spans)-1].data
	c.Append(nil, before)
	c.resume()
	return before, nil
}

// lastEscape returns where the last sequence before from begins. No other sequence
// extends beyond it, and none is longer than a picture. The result leaves room for a
// whole rune.
func lastEscape(log spill.Log, from int64) (int64, error) {
	near := max(0, from-maxPartial)
	first := max(0, from-maxDCS)
	buf := make([]byte, min(pageChunk, from-first))
	for to := from; to > first; to = max(first, to-pageChunk) {
		spans := split(log.State(), max(first, to-pageChunk), to)
		if len(spans) == 0 || spans[len(spans)-1].gap {
			break
		}
		last := spans[len(spans)-1]
		n, err := log.ReadAt(buf[:last.to-last.from], last.from)
		if err != nil && err != io.EOF {
			return near, err
		}
		if i := bytes.LastIndexByte(buf[:n], 0x1b); i >= 0 {
			return min(near, last.from+int64(i)), nil
		}
		if len(spans) > 1 {
			break
		}
	}
	return near, nil
}
