package view

import (
	"iter"

	"troupe/spill"
)

// maxPieces bounds the segments of an interleaved view.
const maxPieces = 1 << 16

// Interleave shows the end of two separate streams in the order of arrival, within the
// bytes of the options. Of each stream it shows the bytes from an offset on. Each
// stream is decoded and cleaned separately. Bytes without a recorded order come last,
// stdout before stderr.
func Interleave(order iter.Seq[spill.Segment], stdout, stderr spill.Log, from [2]int64, o Options) (View, error) {
	m := interleaver{logs: [2]spill.Log{stdout, stderr}, from: from, options: o}
	for i, log := range m.logs {
		m.states[i], m.clean[i] = log.State(), o.cleaner()
	}
	for _, p := range m.lastSegments(order, o.window()) {
		if err := m.add(p); err != nil {
			return View{}, err
		}
	}
	m.end()
	m.trim(o.window())
	return m.view(), nil
}

// interleaver merges the segments of two streams. Stdout is at index 0.
type interleaver struct {
	logs    [2]spill.Log
	states  [2]spill.State
	from    [2]int64 // first offset of each stream
	options Options
	clean   [2]Cleaner
	warm    [2]bool   // clean has the state before the first segment
	part    [2][]byte // beginning of an incomplete rune, for Verbatim
	spans   []Span
	skipped bool // the view leaves out earlier bytes
}

// lastSegments returns the segments with the last n kept bytes. It cuts the first of
// them to fit.
func (m *interleaver) lastSegments(order iter.Seq[spill.Segment], n int64) []spill.Segment {
	var out []spill.Segment
	ends := m.from
	total := int64(0)
	add := func(p spill.Segment) {
		i := p.Stream - spill.Stdout
		if early := m.from[i] - p.Offset; early > 0 {
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

// kept returns how many bytes of a segment exist.
func (m *interleaver) kept(p spill.Segment) int64 {
	n := int64(0)
	for _, s := range split(m.states[p.Stream-spill.Stdout], p.Offset, p.Offset+p.Length) {
		if !s.gap {
			n += s.to - s.from
		}
	}
	return n
}

// add appends the text of a segment.
func (m *interleaver) add(p spill.Segment) error {
	i := p.Stream - spill.Stdout
	log := m.logs[i]
	m.flush(1 - i)
	spans, st, err := fetch(log, p.Offset, p.Offset+p.Length)
	if err != nil {
		return err
	}
	m.states[i] = st
	for k, s := range spans {
		if s.gap {
			m.clean[i], m.part[i] = m.options.cleaner(), nil
			m.spans = append(m.spans, Span{Kind: Missing, Stream: p.Stream, From: s.from, To: s.to, Text: GapText(s.to - s.from)})
			continue
		}
		if !m.warm[i] && s.from > 0 {
			n, err := m.clean[i].warm(log, s, m.options)
			if err != nil {
				return err
			}
			s.from, s.data = s.from+int64(n), s.data[n:]
		} else if k > 0 {
			n := afterGap(s.data)
			s.from, s.data = s.from+int64(n), s.data[n:]
		}
		m.warm[i] = true
		m.spans = append(m.spans, Span{Stream: p.Stream, From: s.from, To: s.to, Text: m.text(i, s.data)})
	}
	return nil
}

// text returns the next text of stream i. An incomplete rune waits for the next segment
// of its stream.
func (m *interleaver) text(i uint8, p []byte) string {
	if m.options.Style != Verbatim {
		return string(m.clean[i].Append(nil, p))
	}
	p = append(m.part[i], p...)
	n := wholeTo(p)
	m.part[i] = append([]byte(nil), p[n:]...)
	return valid(p[:n])
}

// flush adds the incomplete line of a stream before text of the other one.
func (m *interleaver) flush(i uint8) {
	if text := m.clean[i].Flush(nil); len(text) > 0 {
		last := m.spans[len(m.spans)-1] // it is of this stream
		m.spans = append(m.spans, Span{Stream: last.Stream, From: last.To, To: last.To, Text: string(text)})
	}
}

// end adds the held bytes. An incomplete rune of a stream that goes on is not shown
// yet.
func (m *interleaver) end() {
	for i := range m.logs {
		if !m.states[i].Closed {
			m.clean[i].part, m.part[i] = nil, nil
		}
		rest := m.clean[i].End(nil)
		if m.options.Style == Verbatim {
			rest = []byte(valid(m.part[i]))
		}
		if len(rest) > 0 {
			at := m.states[i].Size
			m.spans = append(m.spans, Span{Stream: spill.Stdout + uint8(i), From: at, To: at, Text: string(rest)})
		}
	}
}

// trim drops text from the front, if invalid UTF-8 has made it too long.
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

// view returns the merged view. Its offsets count both streams together.
func (m *interleaver) view() View {
	v := View{Spans: m.spans}.finish(spill.State{
		Size:   m.states[0].Size + m.states[1].Size,
		Closed: m.states[0].Closed && m.states[1].Closed,
	})
	v.From, v.To, v.Part, v.Truncated = 0, v.Bytes, All, m.skipped
	v.Redrawn = m.clean[0].redrawn || m.clean[1].redrawn
	if m.skipped {
		v.Part = End
	}
	for _, s := range m.spans {
		v.Truncated = v.Truncated || s.Kind != Shown
	}
	return v
}
