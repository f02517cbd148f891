package artifact

import (
	"context"
	"slices"
)

// Bounds of a search.
const (
	DefaultMatches   = 50
	MaxMatches       = 1000
	MaxContext       = 1000
	DefaultGrepBytes = 64 << 10
)

// GrepOptions bound a search.
type GrepOptions struct {
	Regex         bool  // pattern is a regular expression (RE2), else literal text
	Before, After int   // lines shown around each match, at most MaxContext
	Max           int   // matching lines; 0: DefaultMatches; at most MaxMatches
	From          int64 // number of the first line to search
	LineMax       int   // characters shown of a line; 0: all
	Bytes         int   // of all texts and their newlines; 0: DefaultGrepBytes
	Overhead      int   // bytes that the caller adds to each line; they count too
}

func (o GrepOptions) bounded() GrepOptions {
	o.Before, o.After = min(max(0, o.Before), MaxContext), min(max(0, o.After), MaxContext)
	if o.Max <= 0 {
		o.Max = DefaultMatches
	}
	if o.Bytes <= 0 {
		o.Bytes = DefaultGrepBytes
	}
	o.Max, o.From = min(o.Max, MaxMatches), max(0, o.From)
	return o
}

// Matches holds the lines found and those around them.
type Matches struct {
	Blocks   [][]Line // adjacent lines share a block
	Found    int      // matching lines shown
	More     bool     // more lines match
	Next     int64    // number of the first of them
	TooLarge bool     // not even the first match, line Next, fits
}

// Grep finds the lines that match a pattern. Memory is bounded for any length of line.
// Context never includes lines before From. If the bytes do not suffice, it shows the
// first matches.
func (r *Reader) Grep(ctx context.Context, what string, o GrepOptions) (Matches, error) {
	o = o.bounded()
	p, err := newPattern(what, o.Regex)
	if err != nil {
		return Matches{}, err
	}
	off, _, found, err := r.seek(ctx, o.From)
	if err != nil || !found {
		return Matches{}, err
	}
	s := &search{
		ctx: ctx, r: r, p: p, c: newCursor(ctx, r.r, off, r.size),
		number: o.From, before: o.Before, max: o.Max + 1,
	}
	if err := s.run(); err != nil {
		return Matches{}, err
	}
	b := &blocks{ctx: ctx, r: r, o: o, hits: s.hits[:min(len(s.hits), o.Max)], shown: -1}
	for i, h := range b.hits {
		ok, err := b.add(h)
		if err != nil {
			return Matches{}, err
		}
		if !ok {
			b.out.More, b.out.Next, b.out.TooLarge = true, h.number, i == 0
			return b.out, nil
		}
	}
	if len(s.hits) > o.Max {
		b.out.More, b.out.Next = true, s.hits[o.Max].number
	}
	return b.out, nil
}

// blocks turns hits into texts.
type blocks struct {
	ctx  context.Context
	r    *Reader
	o    GrepOptions
	hits []hit
	out  Matches

	c     *cursor // after the line shown last
	shown int64   // number of the line shown last; -1: none
	more  bool    // a line follows it
	// used is the size of all texts so far, in bytes.
	used int
}

// add shows one match with its context; false means that it does not fit.
func (b *blocks) add(h hit) (bool, error) {
	if h.number > b.shown {
		if ok, err := b.lead(h); !ok || err != nil {
			return ok, err
		}
	}
	for b.shown < h.number+int64(b.o.After) && b.more {
		if ok, err := b.line(); !ok || err != nil {
			return true, err // the match itself is shown
		}
	}
	return true, nil
}

// lead shows a match after the lines before it. If they do not fit, it shows the match
// alone.
func (b *blocks) lead(h hit) (bool, error) {
	if b.shown < 0 || h.around > b.shown+1 {
		b.begin(h.around, h.aroundAt)
	}
	back := *b
	block := len(b.out.Blocks) - 1
	lines := len(b.out.Blocks[block])
	at := b.c.off
	for b.shown < h.number {
		ok, err := b.line()
		if err != nil {
			return false, err
		}
		if ok {
			continue
		}
		b.out, b.used, b.shown = back.out, back.used, back.shown
		b.out.Blocks[block] = b.out.Blocks[block][:lines]
		b.c.jump(at)
		return b.alone(h)
	}
	return true, nil
}

// alone shows a match without the lines before it.
func (b *blocks) alone(h hit) (bool, error) {
	if h.number != b.shown+1 || b.shown < 0 {
		b.begin(h.number, h.at)
	}
	ok, err := b.line()
	if !ok {
		b.trim()
	}
	return ok, err
}

// begin starts a block at a line.
func (b *blocks) begin(number, off int64) {
	b.trim()
	b.out.Blocks = append(b.out.Blocks, nil)
	b.c, b.shown = newCursor(b.ctx, b.r.r, off, b.r.size), number-1
}

// trim removes a last block without lines.
func (b *blocks) trim() {
	if n := len(b.out.Blocks); n > 0 && len(b.out.Blocks[n-1]) == 0 {
		b.out.Blocks = b.out.Blocks[:n-1]
	}
}

// line shows the next line of the block; false means that it does not fit.
func (b *blocks) line() (bool, error) {
	room := b.o.Bytes - b.used - b.o.Overhead - 1
	from := b.c.off
	l, fits, k, err := readLine(b.c, b.o.LineMax, max(0, room))
	if err != nil {
		return false, err
	}
	if !fits || room < 0 {
		b.c.jump(from)
		return false, nil
	}
	l.Number = b.shown + 1
	i, match := slices.BinarySearchFunc(b.hits, l.Number, func(h hit, n int64) int { return int(h.number - n) })
	if l.Match = match; match {
		b.out.Found++
	}
	if match && l.Cut {
		if l.Column, err = b.column(from, b.hits[i].found); err != nil {
			return false, err
		}
	}
	ended, err := k.leave()
	if err != nil {
		return false, err
	}
	b.more = !b.c.atEnd() || b.r.o.LastEmpty && ended
	b.out.Blocks[len(b.out.Blocks)-1] = append(b.out.Blocks[len(b.out.Blocks)-1], l)
	b.used += len(l.Text) + b.o.Overhead + 1
	b.shown++
	return true, nil
}

// column counts the characters before a place in the line that begins at from.
func (b *blocks) column(from, place int64) (int64, error) {
	k := newClusters(newCursor(b.ctx, b.r.r, from, b.r.size))
	err := k.pass(maxCount, place)
	return k.count, err
}
