package view

import (
	"bytes"

	"troupe/spill"
)

// Tail shows the end of a log in whole runes, within the bytes of the options (R-073,
//
func Tail(log spill.Log, o Options) (View, error) {
	spans, st, err := tail(log, o)
	if err != nil {
		return View{}, err
	}
	return show(log, nil, spans, st, o)
}

// TailLines shows the last n lines of a log, within the bytes of the options. It begins
// with a whole line unless the last line alone is too long. n <= 0 shows as
// many as fit. With lines, if they cover the whole log, it sets the number of the first
// line.
func TailLines(log spill.Log, lines *spill.LineIndex, n int, o Options) (View, error) {
	spans, st, err := tail(log, o)
	if err != nil {
		return View{}, err
	}
	return show(log, lines, lastLines(log, spans, n, o.Style), st, o)
}

func tail(log spill.Log, o Options) ([]span, spill.State, error) {
	before := log.State()
	spans, st, err := fetch(log, start(before, o.window()), before.Size)
	return fitTail(spans, o), asOf(spans, before, st), err
}

// asOf returns the state of a log for a view of spans. If spans are empty, bytes that
// arrived after before do not count.
func asOf(spans []span, before, now spill.State) spill.State {
	if len(spans) == 0 && now.Size > before.Size {
		return before
	}
	return now
}

// show renders the chosen spans.
func show(log spill.Log, lines *spill.LineIndex, spans []span, st spill.State, o Options) (View, error) {
	r, err := render(log, spans, st, o)
	if err != nil {
		return View{}, err
	}
	v := View{Spans: r.spans, Redrawn: r.redrawn}
	if len(spans) > 0 {
		v.Line = lineFromEnd(lines, spans)
		v.Cut = !spans[0].gap && !beginsLine(log, spans[0].from)
		v.toEnd = spans[len(spans)-1].to >= st.Size
		v.FullScreen = v.toEnd && r.fullScreen
	} else {
		v.From, v.To = st.Size, st.Size
	}
	return v.finish(st), nil
}

// fitTail drops bytes from the front that would make the text too long.
func fitTail(spans []span, o Options) []span {
	left := o.window()
	for i := len(spans) - 1; i >= 0; i-- {
		s := &spans[i]
		if s.gap {
			continue
		}
		var n int
		if n, left = suffix(s.data, left, o.Style); n > 0 {
			s.from, s.data = s.from+int64(n), s.data[n:]
			return spans[i:]
		}
	}
	return spans
}

// lastLines keeps the last n lines of spans. It drops an incomplete first line, unless
// there is no other, or Final shows its last state.
func lastLines(log spill.Log, spans []span, n int, style Style) []span {
	for i := len(spans) - 1; i >= 0 && n > 0; i-- {
		s := &spans[i]
		at := len(s.data)
		if i == len(spans)-1 && bytes.HasSuffix(s.data, newline) {
			at-- // this newline ends the last line
		}
		for at = bytes.LastIndexByte(s.data[:at], '\n'); at >= 0; at = bytes.LastIndexByte(s.data[:at], '\n') {
			if n--; n == 0 {
				s.from, s.data = s.from+int64(at)+1, s.data[at+1:]
				return spans[i:]
			}
		}
	}
	if len(spans) > 0 && !spans[0].gap && !beginsLine(log, spans[0].from) {
		return wholeLines(spans, style)
	}
	return spans
}

// wholeLines drops the incomplete line at the beginning of the first span, if a line
// follows. With Final it keeps the text after a CR.
func wholeLines(spans []span, style Style) []span {
	s := &spans[0]
	at := bytes.IndexByte(s.data, '\n') + 1
	if cr := bytes.IndexByte(s.data[:max(0, at-2)], '\r') + 1; style == Final && cr > 0 {
		at = cr
	}
	if at == 0 || at == len(s.data) && len(spans) == 1 {
		return spans
	}
	s.from, s.data = s.from+int64(at), s.data[at:]
	if len(s.data) == 0 {
		return spans[1:]
	}
	return spans
}

// beginsLine reports whether a line begins at off.
func beginsLine(log spill.Log, off int64) bool {
	if off == 0 {
		return true
	}
	var b [1]byte
	n, _ := log.ReadAt(b[:], off-1)
	return n == 1 && b[0] == '\n'
}

// lineFromEnd returns the number of the line in which spans begin, counted back from
// the end of lines. It returns 0 if spans end elsewhere.
func lineFromEnd(lines *spill.LineIndex, spans []span) int64 {
	first, last := spans[0], spans[len(spans)-1]
	if first.from == 0 {
		return 1
	}
	if lines == nil || lines.Seen() != last.to {
		return 0
	}
	ends, exact := lines.Ends()
	for _, s := range spans {
		if s.gap || !exact {
			return 0
		}
		ends -= int64(bytes.Count(s.data, newline))
	}
	return ends + 1
}
