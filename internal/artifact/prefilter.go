package artifact

import (
	"bytes"
	"regexp/syntax"
	"slices"
	"unicode/utf8"
)

// prefilter finds the lines that may match: each match contains one of its texts. It makes a
// search as fast as one for a text.
type prefilter struct {
	texts  [][]byte // empty: none is known
	folded bool     // texts are in lower case, and so must be what is searched
	exact  bool     // each match of the expression is one of the texts
}

// maxTexts bounds the texts of a prefilter: with more of them, each costs a pass.
const maxTexts = 8

// newPrefilter returns the prefilter of an expression. Of its parts it takes the one whose
// shortest text is longest.
func newPrefilter(tree *syntax.Regexp) (best prefilter) {
	switch tree.Op {
	case syntax.OpLiteral:
		return literalText(tree)
	case syntax.OpCapture:
		return newPrefilter(tree.Sub[0])
	case syntax.OpPlus, syntax.OpRepeat:
		if tree.Op == syntax.OpPlus || tree.Min > 0 {
			best = newPrefilter(tree.Sub[0])
			best.exact = false
		}
	case syntax.OpConcat:
		return concatenated(tree.Sub)
	case syntax.OpAlternate:
		for _, sub := range tree.Sub {
			f := newPrefilter(sub)
			if len(f.texts) == 0 || len(best.texts)+len(f.texts) > maxTexts {
				return prefilter{}
			}
			best = prefilter{append(best.texts, f.texts...), best.folded || f.folded, f.exact && (best.exact || len(best.texts) == 0)}
		}
		best.fold()
	}
	return best
}

// concatenated returns the prefilter of expressions that follow each other. Texts that are
// exact are joined: a(b|c) has ab and ac.
func concatenated(parts []*syntax.Regexp) (best prefilter) {
	all, run := true, prefilter{}
	for _, sub := range parts {
		f := newPrefilter(sub)
		all = all && f.exact
		switch {
		case !f.exact:
			run = prefilter{}
		case !run.exact || len(run.texts)*len(f.texts) > maxTexts:
			all = all && !run.exact
			run = f
		default:
			run = run.then(f)
		}
		for _, one := range []prefilter{f, run} {
			if one.least() > best.least() {
				best = one
			}
		}
	}
	best.exact = all
	return best
}

// then returns the texts that begin with one of f and end with one of g.
func (f prefilter) then(g prefilter) prefilter {
	joined := prefilter{folded: f.folded || g.folded, exact: true}
	for _, a := range f.texts {
		for _, b := range g.texts {
			joined.texts = append(joined.texts, slices.Concat(a, b))
		}
	}
	joined.fold()
	return joined
}

// fold turns the texts into lower case if one of them is.
func (f prefilter) fold() {
	for _, text := range f.texts {
		if f.folded {
			lower(text)
		}
	}
}

// literalText returns the prefilter of a literal. If case does not matter, that is its longest
// part in ASCII without k and s, which have other forms outside of ASCII.
func literalText(tree *syntax.Regexp) (longest prefilter) {
	if slices.Contains(tree.Rune, utf8.RuneError) { // also matches an invalid byte
		return prefilter{}
	}
	if tree.Flags&syntax.FoldCase == 0 {
		return prefilter{texts: [][]byte{[]byte(string(tree.Rune))}, exact: true}
	}
	longest.folded = true
	for _, part := range bytes.FieldsFunc([]byte(string(tree.Rune)), func(r rune) bool {
		return r >= utf8.RuneSelf || r == 'k' || r == 'K' || r == 's' || r == 'S'
	}) {
		if len(part) > longest.least() {
			lower(part)
			longest.texts, longest.exact = [][]byte{part}, len(part) == len(string(tree.Rune))
		}
	}
	return longest
}

// least returns the length of the shortest text, 0 without one.
func (f prefilter) least() int {
	if len(f.texts) == 0 {
		return 0
	}
	return len(slices.MinFunc(f.texts, func(a, b []byte) int { return len(a) - len(b) }))
}

// lower turns ASCII letters into lower case.
func lower(p []byte) {
	for i, b := range p {
		if 'A' <= b && b <= 'Z' {
			p[i] = b | 0x20
		}
	}
}

// candidates finds the places of a block at which a prefilter's texts begin.
type candidates struct {
	prefilter
	block []byte
	next  []int // of each text: the next place; len(block): none
}

// begin starts with another block. buf is memory for its copy.
func (c *candidates) begin(f prefilter, block, buf []byte) []byte {
	c.prefilter, c.block = f, block
	if f.folded {
		buf = append(buf[:0], block...)
		lower(buf)
		c.block = buf
	}
	c.next = append(c.next[:0], make([]int, len(f.texts))...)
	for i := range c.next {
		c.next[i] = -1
	}
	return buf
}

// from returns the first place from at on; -1: there is none.
func (c *candidates) from(at int) int {
	first := len(c.block)
	for i, text := range c.texts {
		if c.next[i] < at {
			c.next[i] = len(c.block)
			if n := bytes.Index(c.block[at:], text); n >= 0 {
				c.next[i] = at + n
			}
		}
		first = min(first, c.next[i])
	}
	if first == len(c.block) {
		return -1
	}
	return first
}
