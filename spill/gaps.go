package spill

import (
	"cmp"
	"slices"
)

// maxGaps bounds how many gaps are told apart. Policies make one; more come only
// from files that are truncated again and again: then neighbours become one.
const maxGaps = 64

// gaps are ranges in order, apart from one another.
type gaps []Gap

// add makes [from, to) a gap.
func (g gaps) add(from, to int64) gaps {
	if to <= from {
		return g
	}
	i, _ := slices.BinarySearchFunc(g, from, func(a Gap, from int64) int { return cmp.Compare(a.To, from) })
	j := i
	for ; j < len(g) && g[j].From <= to; j++ {
		from, to = min(from, g[j].From), max(to, g[j].To)
	}
	return slices.Replace(g, i, j, Gap{from, to}).bounded()
}

// upTo are the gaps before to.
func (g gaps) upTo(to int64) gaps {
	var out gaps
	for _, a := range g {
		if a.From < to {
			out = append(out, Gap{a.From, min(a.To, to)})
		}
	}
	return out
}

// bounded joins the two neighbours with the least between them while there are
// too many.
func (g gaps) bounded() gaps {
	for len(g) > maxGaps {
		best := 1
		for i := 2; i < len(g); i++ {
			if g[i].From-g[i-1].To < g[best].From-g[best-1].To {
				best = i
			}
		}
		g[best-1].To = g[best].To
		g = slices.Delete(g, best, best+1)
	}
	return g
}

// total is how many bytes are missing.
func (g gaps) total() int64 {
	return State{Gaps: g}.Missing()
}

// cover reports whether all of [from, to) is missing.
func (g gaps) cover(from, to int64) bool {
	for _, a := range g {
		if a.From <= from && to <= a.To {
			return true
		}
	}
	return to <= from
}

// keep calls f for each range within [from, to) that is not missing.
func (g gaps) keep(from, to int64, f func(from, to int64) error) error {
	for _, a := range g {
		if a.To <= from {
			continue
		}
		if a.From >= to {
			break
		}
		if from < a.From {
			if err := f(from, a.From); err != nil {
				return err
			}
		}
		from = a.To
	}
	if from < to {
		return f(from, to)
	}
	return nil
}

// blank writes zeros over what of p, read at off, is missing.
func (g gaps) blank(p []byte, off int64) {
	for _, a := range g {
		from, to := max(a.From, off), min(a.To, off+int64(len(p)))
		if from < to {
			clear(p[from-off : to-off])
		}
	}
}
