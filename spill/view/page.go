package view

import (
	"bytes"
	"io"

	"troupe/spill"
)

// newline is used as a constant.
var newline = []byte{'\n'}

// pageChunk is the read size of a search for a page.
const pageChunk = 64 << 10

// Page shows limit lines from line number from, counted from 1, within the bytes of the
// options. limit <= 0 shows as many as fit. The page ends with a whole line unless its
// first line alone is too long. It returns ErrUncounted if lines do not reach from yet.
// A page after the last line is empty. If a gap hides the line, the page begins with
// the gap.
func Page(log spill.Log, lines *spill.LineIndex, from int64, limit int, o Options) (View, error) {
	from = max(1, from)
	st := log.State()
	ends, _ := lines.Ends()
	if from > ends+1 && lines.Seen() < st.Size {
		return View{}, ErrUncounted
	}
	off, exact, err := find(log, lines, from)
	if err != nil {
		return View{}, err
	}
	v, err := forward(log, off, limit, o)
	if exact && v.From < v.To {
		v.Line = from
	}
	return v, err
}

// find returns the offset of a line. exact is false if a gap hides it.
func find(log spill.Log, lines *spill.LineIndex, line int64) (off int64, exact bool, err error) {
	if off, ends, hid := lines.Hidden(); hid && line > ends+1 {
		return off, false, nil
	}
	mark := lines.Before(line)
	to := log.State().Size
	off, left, gap, err := skip(log, mark.Offset, to, line-mark.Line)
	if err != nil || gap == nil {
		return off, left == 0, err
	}
	// Counted lines were elided meanwhile: count back from the next mark.
	next := lines.After(gap.to)
	const all = 1 << 62
	_, left, again, err := skip(log, gap.to, next.Offset, all)
	if err != nil || again != nil {
		return gap.from, false, err
	}
	first := next.Line - (all - left) // the line in which the gap ends
	if line <= first {
		return gap.from, false, nil
	}
	off, left, again, err = skip(log, gap.to, to, line-first)
	return off, left == 0 && again == nil, err
}

// skip passes n newlines from off, not beyond to. It returns where it stopped and how
// many are left. It stops at a gap.
func skip(log spill.Log, off, to, n int64) (at, left int64, gap *span, err error) {
	var buf []byte
	for n > 0 && off < to {
		if buf == nil {
			buf = make([]byte, min(pageChunk, to-off))
		}
		k, err := log.ReadAt(buf[:min(int64(len(buf)), to-off)], off)
		if err != nil && err != io.EOF {
			return 0, 0, nil, err
		}
		if k == 0 {
			break
		}
		for _, s := range split(log.State(), off, to) {
			if s.gap && s.from < off+int64(k) {
				return s.from, n, &s, nil
			}
			if s.to = min(s.to, off+int64(k)); s.gap || s.from >= s.to {
				break
			}
			passed := 0
			passed, n = pass(buf[s.from-off:s.to-off], n)
			if n == 0 {
				return s.from + int64(passed), 0, nil, nil
			}
		}
		off += int64(k)
	}
	return off, n, nil, nil
}

// pass passes n newlines of p.
func pass(p []byte, n int64) (at int, left int64) {
	for n > 0 {
		i := bytes.IndexByte(p[at:], '\n') + 1
		if i == 0 {
			return len(p), n
		}
		at, n = at+i, n-1
	}
	return at, 0
}

// forward shows limit lines from off.
func forward(log spill.Log, off int64, limit int, o Options) (View, error) {
	before := log.State()
	spans, st, err := fetch(log, off, end(before, off, o.window()))
	if err != nil {
		return View{}, err
	}
	st = asOf(spans, before, st)
	spans = firstLines(fitHead(spans, o), limit, st)
	v, err := show(log, nil, spans, st, o)
	v.Cut = v.Cut || endsInLine(spans, st)
	return v, err
}

// fitHead drops bytes from the end that would make the text too long.
func fitHead(spans []span, o Options) []span {
	left := o.window()
	for i := range spans {
		s := &spans[i]
		if s.gap {
			continue
		}
		var n int
		if n, left = prefix(s.data, left, o.Style); n < len(s.data) {
			s.data, s.to = s.data[:n], s.from+int64(n)
			return spans[:i+1]
		}
	}
	return spans
}

// firstLines keeps the first n lines of spans. It drops an incomplete last line, unless
// there is no other or the log ends with it.
func firstLines(spans []span, n int, st spill.State) []span {
	if n <= 0 {
		n = int(^uint(0) >> 1)
	}
	whole := -1 // the span with the last newline
	at := 0     // offset after that newline
	for i, s := range spans {
		for from := 0; ; {
			k := bytes.IndexByte(s.data[from:], '\n') + 1
			if k == 0 {
				break
			}
			from += k
			whole, at = i, from
			if n--; n == 0 {
				return cutAfter(spans, whole, at)
			}
		}
	}
	if whole >= 0 && endsInLine(spans, st) {
		return cutAfter(spans, whole, at)
	}
	return spans
}

func cutAfter(spans []span, i, at int) []span {
	s := &spans[i]
	s.data, s.to = s.data[:at], s.from+int64(at)
	return spans[:i+1]
}

// endsInLine reports whether spans end within a line.
func endsInLine(spans []span, st spill.State) bool {
	if len(spans) == 0 {
		return false
	}
	last := spans[len(spans)-1]
	return !last.gap && last.to < st.Size && !bytes.HasSuffix(last.data, newline)
}

// Text shows the bytes [from, from+limit) in whole runes, within the bytes of the
// options.
func Text(log spill.Log, from, limit int64, o Options) (View, error) {
	from = max(0, from)
	st := log.State()
	to := end(st, from, min(o.window(), max(0, limit)))
	spans, st, err := fetch(log, from, to)
	if err != nil {
		return View{}, err
	}
	return show(log, nil, fitHead(spans, o), st, o)
}

// Raw returns the bytes [from, from+limit) unchanged, at most MaxBytes, and the gaps in
// them, which read as zeros.
func Raw(log spill.Log, from, limit int64) ([]byte, []spill.Gap, error) {
	from = max(0, from)
	p := make([]byte, max(0, min(limit, MaxBytes, log.State().Size-from)))
	n, err := log.ReadAt(p, from)
	if err != nil && err != io.EOF {
		return nil, nil, err
	}
	var gaps []spill.Gap
	for _, s := range split(log.State(), from, from+int64(n)) {
		if s.gap {
			gaps = append(gaps, spill.Gap{From: s.from, To: s.to})
		}
	}
	return p[:n], gaps, nil
}
