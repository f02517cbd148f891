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

// rendering is the text of spans.
type rendering struct {
	spans      []Span
	fullScreen bool // the alternate screen is shown at the end
	redrawn    bool // the Final text may differ
}

// render returns the text of spans. It leaves out runes that a gap or the bounds of the
// view cut. An incomplete rune at the end of a closed log is shown as U+FFFD, since the
// job wrote it so. Bytes whose meaning depends on what follows are left to the next
// view.
func render(log spill.Log, spans []span, st spill.State, o Options) (rendering, error) {
	var c Cleaner
	var out rendering
	for i, s := range spans {
		c = o.cleaner()
		if s.gap {
			out.spans = append(out.spans, Span{Kind: Missing, From: s.from, To: s.to, Text: GapText(s.to - s.from)})
			continue
		}
		var n int
		var err error
		if i > 0 {
			n = afterGap(s.data)
			err = c.enters(log, s, o)
		} else if s.from > 0 {
			n, err = c.warm(log, s, o)
		}
		if err != nil {
			return rendering{}, err
		}
		s.from, s.data = s.from+int64(n), s.data[n:]
		if last := i == len(spans)-1; !last || s.to < st.Size || !st.Closed {
			n := wholeTo(s.data)
			if o.Style != Verbatim && last {
				n -= c.holds(s.data[:n])
			}
			s.data, s.to = s.data[:n], s.from+int64(n)
		}
		out.spans = append(out.spans, Span{From: s.from, To: s.to, Text: c.text(s.data, o.Style)})
		out.redrawn = out.redrawn || c.redrawn
	}
	out.fullScreen = c.alt
	if o.Style == Final {
		out.spans = trimText(out.spans, o.window())
	}
	return out, nil
}

// trimText leaves out the beginning of a text of more than n bytes: cursor movements make
// a text longer than the bytes that it comes from.
func trimText(spans []Span, n int64) []Span {
	for i := len(spans) - 1; i >= 0; i-- {
		s := &spans[i]
		if s.Kind != Shown {
			continue
		}
		all := len(s.Text)
		var at int
		if at, n = suffix([]byte(s.Text), n, Verbatim); at == 0 {
			continue
		}
		rest := append([]Span{{Kind: Omitted, From: s.From, To: s.From, Text: omittedText(int64(at), 0)}}, spans[i:]...)
		rest[1].Text = s.Text[at:all]
		return append(spans[:i:i], rest...)
	}
	return spans
}

// cleaner returns the Cleaner of a view.
func (o Options) cleaner() Cleaner {
	c := Cleaner{Colours: o.Style == Coloured, Final: o.Style == Final, Cols: o.Cols}
	c.sized()
	return c
}

func (c *Cleaner) text(p []byte, style Style) string {
	if style == Verbatim {
		return valid(p)
	}
	return string(c.End(c.Append(nil, p)))
}

// holds returns how many of the last bytes of p would be held, without changing c.
func (c *Cleaner) holds(p []byte) int {
	try := c.Clone()
	try.Append(nil, p)
	return try.Held()
}

// warm sets the state that the bytes before a span leave in a terminal. It returns how many
// bytes at the beginning of the span belong to a rune that begins before it.
func (c *Cleaner) warm(log spill.Log, s span, o Options) (int, error) {
	at, err := max(0, s.from-maxPartial), error(nil)
	if o.Style != Verbatim {
		if at, err = lastEscape(log, s.from); err != nil {
			return 0, err
		}
	}
	n := 0
	spans, _, err := fetch(log, at, s.from)
	if err == nil && len(spans) > 0 && !spans[len(spans)-1].gap {
		before := spans[len(spans)-1].data
		c.Append(nil, before)
		c.resume()
		n = wholeFrom(before, s.data)
	}
	if err != nil {
		return 0, err
	}
	return n, c.enters(log, s, o)
}

// enters finds out whether the alternate screen is shown before a span.
func (c *Cleaner) enters(log spill.Log, s span, o Options) (err error) {
	if o.Style == Final {
		c.alt, err = startsAlternate(log, s.from, s.data, o)
	}
	return err
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
