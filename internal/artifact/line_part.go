package artifact

import "context"

// Bounds of a part of a line: characters, and bytes for maxLineBytes.
const (
	DefaultLineChars = 10_000
	MaxLineChars     = 100_000
	maxLineBytes     = 4 << 20
)

// LinePart is a part of a line, in characters counted from 0.
type LinePart struct {
	Number   int64
	Length   int64 // characters of the line
	From, To int64 // characters shown: [From, To)
	Text     string
	More     bool // the line goes on at To
}

// Line returns limit characters of line n from character from on, all counted from 0. A
// limit <= 0 means DefaultLineChars; the maximum is MaxLineChars. A part past the end
// of the line is empty. The line is read to its end, for its length, once for
// consecutive calls on the same line. ErrNoLine means that the file has no such line.
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

// maxCount exceeds the characters of any line.
const maxCount = 1 << 62

// mark returns the known state of line n.
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
