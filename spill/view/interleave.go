package view

import (
	"iter"

	"troupe/spill"
)

// maxPieces bounds how many changes of stream an interleaved view holds.
const maxPieces = 1 << 16

// Interleave shows the end of two streams that were kept apart, in the order in
// which they arrived, within the bytes of the options: of each what is behind a byte.
// Each stream is decoded and cleaned by itself. What arrived after the order was taken,
// or was not recorded, comes last: first stdout, then stderr.
func Interleave(order iter.Seq[spill.Segment], stdout, stderr spill.Log, behind [2]int64, o Options) (View, error) {
	m := interleaver{logs: [2]spill.Log{stdout, stderr}, behind: behind, style: o.Style}
	for i, log := range m.logs {
		m.states[i] = log.State()
	}
	pieces := m.lastPieces(order, o.window())
	for _, p := range pieces {
		if err := m.add(p); err != nil {
			return View{}, err
		}
	}
	m.end()
	m.trim(o.window())
	return m.view(), nil
}

// interleaver puts pieces of two streams together; stream Stdout is at 0.
type interleaver struct {
	logs    [2]spill.Log
	states  [2]spill.State
	behind  [2]int64
	style   Style
	clean   [2]Cleaner
	warm    [2]bool
	part    [2][]byte // of a rune, verbatim
	spans   []Span
	skipped bool
}

// lastPieces are the pieces that hold the last n bytes that were kept, the first
// of them cut to fit.
func (m *interleaver) lastPieces(order iter.Seq[spill.Segment], n int64) []spill.Segment {
	var out []spill.Segment
	ends := m.behind
	total := int64(0)
	add := func(p spill.Segment) {
		i := p.Stream - spill.Stdout
		if early := m.behind[i] - p.Offset; early > 0 {
			p.Offset, p.Length = p.Offset+early, p.Length-early
		}
		p.Length = min(p.Length, m.states[i].Size-p.Offset)
		if p.Length <= 0 {
			return
		}
		ends[i] = p.Offset + p.Length
		out = append(out, p)
		total += m.kept(p)
		for len(out) > 1 && (total-m.kept(out[0]) >= n || len(out) > maxPieces) {
			total -= m.kept(out[0])
			out, m.skipped = out[1:], true
		}
	}
	for p := range order {
		add(p)
	}
	for i, st := range m.states {
		add(spill.Segment{Stream: spill.Stdout + uint8(i), Offset: ends[i], Length: st.Size - ends[i]})
	}
	if total > n {
		p := &out[0]
		cut := end(m.states[p.Stream-spill.Stdout], p.Offset, total-n) - p.Offset
		p.Offset, p.Length = p.Offset+cut, p.Length-cut
		m.skipped = true
	}
	return out
}

// kept is how many bytes of a piece there are.
func (m *interleaver) kept(p spill.Segment) int64 {
	n := int64(0)
	for _, s := range split(m.states[p.Stream-spill.Stdout], p.Offset, p.Offset+p.Length) {
		if !s.gap {
			n += s.to - s.from
		}
	}
	return n
}

// add appends the text of a piece.
func (m *interleaver) add(p spill.Segment) error {
	i := p.Stream - spill.Stdout
	log := m.logs[i]
	spans, st, err := fetch(log, p.Offset, p.Offset+p.Length)
	if err != nil {
		return err
	}
	m.states[i] = st
	for k, s := range spans {
		if s.gap {
			m.clean[i], m.part[i] = Cleaner{}, nil
			m.spans = append(m.spans, Span{Kind: Missing, Stream: p.Stream, From: s.from, To: s.to, Text: GapText(s.to - s.from)})
			continue
		}
		if !m.warm[i] && s.from > 0 {
			before, err := m.clean[i].warm(log, s.from, m.style)
			if err != nil {
				return err
			}
			n := wholeFrom(before, s.data)
			s.from, s.data = s.from+int64(n), s.data[n:]
		} else if k > 0 {
			n := afterGap(s.data)
			s.from, s.data = s.from+int64(n), s.data[n:]
		}
		m.warm[i] = true
		m.clean[i].Colours = m.style == Coloured
		m.spans = append(m.spans, Span{Stream: p.Stream, From: s.from, To: s.to, Text: m.text(i, s.data)})
	}
	return nil
}

// text is the next text of stream i. A rune that is not whole waits for the next
// piece of its stream.
func (m *interleaver) text(i uint8, p []byte) string {
	if m.style != Verbatim {
		return string(m.clean[i].Append(nil, p))
	}
	p = append(m.part[i], p...)
	n := wholeTo(p)
	m.part[i] = append([]byte(nil), p[n:]...)
	return valid(p[:n])
}

// end adds what was held back. Of a stream that goes on, a part of a rune is not
// shown yet.
func (m *interleaver) end() {
	for i := range m.logs {
		if !m.states[i].Closed {
			m.clean[i].part, m.part[i] = nil, nil
		}
		rest := m.clean[i].End(nil)
		if m.style == Verbatim {
			rest = []byte(valid(m.part[i]))
		}
		if len(rest) > 0 {
			at := m.states[i].Size
			m.spans = append(m.spans, Span{Stream: spill.Stdout + uint8(i), From: at, To: at, Text: string(rest)})
		}
	}
}

// trim drops from the front what bytes that are no UTF-8 have made too long.
func (m *interleaver) trim(n int64) {
	for i := len(m.spans) - 1; i >= 0; i-- {
		s := &m.spans[i]
		if s.Kind != Shown {
			continue
		}
		var at int
		if at, n = suffix([]byte(s.Text), n, Verbatim); at > 0 {
			s.Text = s.Text[at:]
			m.spans, m.skipped = m.spans[i:], true
			return
		}
	}
}

// view is the sum of both streams; its offsets are those of no single log.
func (m *interleaver) view() View {
	v := View{Spans: m.spans}.finish(spill.State{
		Size:   m.states[0].Size + m.states[1].Size,
		Closed: m.states[0].Closed && m.states[1].Closed,
	})
	v.From, v.To, v.Part, v.Truncated = 0, v.Bytes, All, m.skipped
	if m.skipped {
		v.Part = End
	}
	for _, s := range m.spans {
		v.Truncated = v.Truncated || s.Kind != Shown
	}
	return v
}
