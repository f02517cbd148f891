package artifact

import "context"

// The bounds of a part of a line, in characters, and in bytes.
const (
	DefaultLineChars = 10_000
	MaxLineChars     = 100_000
	maxLineBytes     = 4 << 20
)

// LinePart is a part of a line, by characters from 0.
type LinePart struct {
	Number   int64
	Length   int64 // characters of the line
	From, To int64 // of the characters shown, [From, To)
	Text     string
	More     bool // the line goes on at To
}

// Line shows limit characters of line number n, both from 0, from character from on;
// limit <= 0 is DefaultLineChars, more than MaxLineChars is that. A part that begins
// behind the line is empty. ErrNoLine says that there is no such line. The line is
// read to its end, for its length, once if lines are read one after the other.
func (r *Reader) Line(ctx context.Context, n, from, limit int64) (LinePart, error) {
	if limit <= 0 {
		limit = DefaultLineChars
	}
	limit, from = min(limit, MaxLineChars), max(0, from)
	m, err := r.mark(ctx, n)
	if err != nil {
		return LinePart{}, err
	}
	if m.chars > from {
		m.chars, m.at = 0, m.from
	}
	k := newClusters(newCursor(ctx, r.r, m.at, r.size))
	k.count = m.chars
	if err := k.pass(from, r.size); err != nil {
		return LinePart{}, err
	}
	p := LinePart{Number: n, From: k.count}
	out, err := k.read(from+limit, maxLineBytes)
	if err != nil {
		return LinePart{}, err
	}
	p.Text, p.To = string(out), k.count
	m.chars, m.at = k.count, k.c.off
	if m.length < 0 {
		if err := k.pass(maxCount, r.size); err != nil {
			return LinePart{}, err
		}
		m.length = k.count
	}
	r.mu.Lock()
	r.seen = m
	r.mu.Unlock()
	p.Length = m.length
	p.More = p.To < p.Length
	return p, nil
}

// maxCount is more characters than a line has.
const maxCount = 1 << 62

// mark is what is known of a line.
func (r *Reader) mark(ctx context.Context, n int64) (lineMark, error) {
	r.mu.Lock()
	m := r.seen
	r.mu.Unlock()
	if m.number == n {
		return m, nil
	}
	if n < 0 {
		return lineMark{}, ErrNoLine
	}
	off, _, found, err := r.seek(ctx, n)
	if err == nil && !found {
		err = ErrNoLine
	}
	return lineMark{number: n, from: off, length: -1, at: off}, err
}
