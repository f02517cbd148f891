package view

import (
	"bytes"
	"io"
	"unicode/utf8"

	"troupe/spill"
)

// maxPartial is how many bytes of a rune there can be without it being whole.
const maxPartial = utf8.UTFMax - 1

// wholeFrom is how many of the first bytes of p belong to a rune that begins in
// before, the bytes in front of it.
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

// afterGap is how many of the first bytes of p look like the rest of a rune that
// a gap has cut.
func afterGap(p []byte) int {
	n := 0
	for n < len(p) && n < maxPartial && !utf8.RuneStart(p[n]) {
		n++
	}
	return n
}

// wholeTo is how much of p is left when a rune that does not end in it is cut off.
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

// cost is how many bytes a rune becomes in a text.
func cost(r rune, size int, style Style) int64 {
	if r == utf8.RuneError && size == 1 {
		return int64(len("\uFFFD"))
	}
	if style != Verbatim && bidi(r) {
		return int64(len(`\u202e`))
	}
	return int64(size)
}

// suffix is where the longest end of p begins whose text has at most n bytes,
// and how many of them are left.
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

// prefix is where the longest beginning of p ends whose text has at most n bytes,
// and how many of them are left.
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

// valid is p as UTF-8, each byte that is none replaced.
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

// render makes the text of spans that are read. Runes that a gap or the view's
// own bounds cut are left out; only at the end of a log that is closed is a part
// of a rune an error of the job's, and shown as U+FFFD. What cannot be told without
// the bytes that follow the view is left to the next one.
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

// holds is how many of the last bytes of p c would hold back; c stays as it is.
func (c *Cleaner) holds(p []byte) int {
	try := *c
	try.seq = bytes.Clone(c.seq)
	try.Append(nil, p)
	return try.Held()
}

// warm brings c into the state in which the bytes before from leave a terminal,
// and returns the last of them.
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

// lastEscape is where the last sequence before a byte begins: no other can go on
// behind it, and none is longer than a picture. It is never so near that a rune
// would not be whole.
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
