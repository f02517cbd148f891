package view

import (
	"bytes"

	"troupe/spill"
)

// HeadTail shows the first head lines and the last tail lines, and between them one
// line that says how much is left out. If they exceed the bytes of the options, each
// gets at most half. With lines, if they cover the whole log, it also says how many
// lines that is.
func HeadTail(log spill.Log, lines *spill.LineIndex, head, tail int, o Options) (View, error) {
	v, err := ends(log, lines, head, tail, o)
	if err == nil && head > 0 && tail > 0 && v.shown() > o.window() {
		o.Bytes = max(1, int(o.window())/2)
		v, err = ends(log, lines, head, tail, o)
	}
	return v, err
}

// shown returns how many bytes of the text come from the log.
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
	last = lastLines(log, fitTail(last, o), max(1, tail), o.Style)
	if tail <= 0 {
		last = nil
	}
	return joinEnds(log, lines, first, last, st, o)
}

// joinEnds makes one view of both ends, which may overlap.
func joinEnds(log spill.Log, lines *spill.LineIndex, first, last []span, st spill.State, o Options) (View, error) {
	from, to := int64(0), st.Size
	if len(first) > 0 {
		from = first[len(first)-1].to
	}
	if len(last) > 0 {
		to = last[0].from
	}
	if from >= to {
		return show(log, lines, append(first, after(last, from)...), st, o)
	}
	var v View
	begin, err := render(log, first, st, o)
	if err != nil {
		return View{}, err
	}
	finish, err := render(log, last, st, o)
	if err != nil {
		return View{}, err
	}
	v.Spans = append(v.Spans, begin.spans...)
	v.Spans = append(v.Spans, between(lines, first, last, from, to, st)...)
	v.Spans = append(v.Spans, finish.spans...)
	v.Redrawn = begin.redrawn || finish.redrawn
	if len(first) > 0 {
		v.Line = 1
	}
	v.toEnd = len(last) > 0 && last[len(last)-1].to >= st.Size
	v.FullScreen = v.toEnd && finish.fullScreen
	v.Cut = endsInLine(first, st) || len(last) > 0 && !last[0].gap && !beginsLine(log, last[0].from)
	return v.finish(st), nil
}

// after returns the part of spans at or after from.
func after(spans []span, from int64) []span {
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

// between describes the range [from, to), which the view leaves out.
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

// omitted returns the number of lines between first and last, 0 if it is unknown.
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
