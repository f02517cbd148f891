package view

import (
	"bytes"

	"troupe/spill"
)

// HeadTail shows the first head and the last tail lines, and one line that tells what is
// left out between them. Where they have more than the bytes of the options, each has at
// most half of those. With lines, if they have seen all of the log, it tells how many
// lines that is.
func HeadTail(log spill.Log, lines *spill.LineIndex, head, tail int, o Options) (View, error) {
	v, err := ends(log, lines, head, tail, o)
	if err == nil && head > 0 && tail > 0 && v.shown() > o.window() {
		o.Bytes = max(1, int(o.window())/2)
		v, err = ends(log, lines, head, tail, o)
	}
	return v, err
}

// shown is how many bytes of the text are of the log.
func (v View) shown() (n int64) {
	for _, s := range v.Spans {
		if s.Kind == Shown {
			n += int64(len(s.Text))
		}
	}
	return n
}

func ends(log spill.Log, lines *spill.LineIndex, head, tail int, o Options) (View, error) {
	st := log.State()
	first, st, err := fetch(log, 0, end(st, 0, o.window()))
	if err != nil {
		return View{}, err
	}
	first = firstLines(fitHead(first, o), max(1, head), st)
	if head <= 0 {
		first = nil
	}
	last, st, err := fetch(log, start(st, o.window()), st.Size)
	if err != nil {
		return View{}, err
	}
	last = lastLines(log, fitTail(last, o), max(1, tail))
	if tail <= 0 {
		last = nil
	}
	return joinEnds(log, lines, first, last, st, o)
}

// joinEnds makes one view of the two; they may overlap.
func joinEnds(log spill.Log, lines *spill.LineIndex, first, last []span, st spill.State, o Options) (View, error) {
	from, to := int64(0), st.Size
	if len(first) > 0 {
		from = first[len(first)-1].to
	}
	if len(last) > 0 {
		to = last[0].from
	}
	if from >= to {
		return show(log, lines, append(first, behind(last, from)...), st, o)
	}
	var v View
	begin, err := render(log, first, st, o.Style)
	if err != nil {
		return View{}, err
	}
	finish, err := render(log, last, st, o.Style)
	if err != nil {
		return View{}, err
	}
	v.Spans = append(v.Spans, begin...)
	v.Spans = append(v.Spans, between(lines, first, last, from, to, st)...)
	v.Spans = append(v.Spans, finish...)
	if len(first) > 0 {
		v.Line = 1
	}
	v.toEnd = len(last) > 0 && last[len(last)-1].to >= st.Size
	v.Cut = endsInLine(first, st) || len(last) > 0 && !last[0].gap && !beginsLine(log, last[0].from)
	return v.finish(st), nil
}

// behind is what of spans lies at or behind from.
func behind(spans []span, from int64) []span {
	for len(spans) > 0 && spans[0].to <= from {
		spans = spans[1:]
	}
	if len(spans) > 0 && spans[0].from < from {
		s := &spans[0]
		if !s.gap {
			s.data = s.data[from-s.from:]
		}
		s.from = from
	}
	return spans
}

// between tells what lies in [from, to).
func between(lines *spill.LineIndex, first, last []span, from, to int64, st spill.State) []Span {
	parts := split(st, from, to)
	var out []Span
	for _, s := range parts {
		n := s.to - s.from
		if s.gap {
			out = append(out, Span{Kind: Missing, From: s.from, To: s.to, Text: GapText(n)})
			continue
		}
		count := int64(0)
		if len(parts) == 1 && len(last) > 0 {
			count = omitted(lines, first, last)
		}
		out = append(out, Span{Kind: Omitted, From: s.from, To: s.to, Text: omittedText(n, count)})
	}
	return out
}

// omitted is how many lines lie between first and last; 0 if that is not known.
func omitted(lines *spill.LineIndex, first, last []span) int64 {
	line := lineFromEnd(lines, last)
	for _, s := range first {
		if s.gap {
			return 0
		}
		line -= int64(bytes.Count(s.data, newline))
	}
	return max(0, line-1)
}
