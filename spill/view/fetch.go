package view

import (
	"fmt"
	"io"
	"slices"

	"troupe/spill"
)

// span is a range of a log with its bytes. A gap has none.
type span struct {
	from, to int64
	data     []byte
	gap      bool
}

// fetch reads [from, to) outside gaps. It cuts out a gap that opened during the read.
func fetch(log spill.Log, from, to int64) ([]span, spill.State, error) {
	before := split(log.State(), from, to)
	for i := range before {
		if before[i].gap {
			continue
		}
		p := make([]byte, before[i].to-before[i].from)
		n, err := log.ReadAt(p, before[i].from)
		if err != nil && err != io.EOF {
			return nil, spill.State{}, err
		}
		before[i].data, before[i].to = p[:n], before[i].from+int64(n)
	}
	st := log.State()
	var out []span
	for _, s := range before {
		if s.gap {
			out = append(out, s)
			continue
		}
		for _, now := range split(st, s.from, s.to) {
			if !now.gap {
				now.data = s.data[now.from-s.from : now.to-s.from]
			}
			out = append(out, now)
		}
	}
	return join(out), st, nil
}

// split cuts [from, to) at the gaps of st.
func split(st spill.State, from, to int64) []span {
	to = min(to, st.Size)
	var out []span
	for _, g := range st.Gaps {
		if g.To <= from || from >= to {
			continue
		}
		if g.From >= to {
			break
		}
		if from < g.From {
			out = append(out, span{from: from, to: g.From})
		}
		end := min(g.To, to)
		out = append(out, span{from: max(from, g.From), to: end, gap: true})
		from = end
	}
	if from < to {
		out = append(out, span{from: from, to: to})
	}
	return out
}

// join merges adjacent gaps.
func join(in []span) []span {
	var out []span
	for _, s := range in {
		if n := len(out); n > 0 && s.gap && out[n-1].gap {
			out[n-1].to = s.to
			continue
		}
		out = append(out, s)
	}
	return out
}

// start returns the offset at which the last n kept bytes begin.
func start(st spill.State, n int64) int64 {
	parts := split(st, 0, st.Size)
	for _, p := range slices.Backward(parts) {
		if p.gap {
			continue
		}
		if p.to-p.from >= n {
			return p.to - n
		}
		n -= p.to - p.from
	}
	return 0
}

// end returns the offset at which n kept bytes, counted from from, end.
func end(st spill.State, from, n int64) int64 {
	for _, p := range split(st, from, st.Size) {
		if p.gap {
			continue
		}
		if p.to-p.from >= n {
			return p.from + n
		}
		n -= p.to - p.from
	}
	return st.Size
}

// GapText returns the line that replaces n missing bytes.
func GapText(n int64) string { return fmt.Sprintf("[… %s not kept …]\n", amount(n)) }

// omittedText returns the line that replaces n bytes which a view leaves out. lines is
// 0 if their number is unknown.
func omittedText(n, lines int64) string {
	if lines > 0 {
		return fmt.Sprintf("[… %d lines, %s not shown …]\n", lines, amount(n))
	}
	return fmt.Sprintf("[… %s not shown …]\n", amount(n))
}

// amount formats a number of bytes, in the largest unit that keeps two digits.
func amount(n int64) string {
	switch {
	case n >= 10<<20:
		return fmt.Sprintf("%d MiB", n>>20)
	case n >= 10<<10:
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d bytes", n)
}
