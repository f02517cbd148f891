package artifact

import (
	"bytes"
	"context"
	"io"
)

// cursor reads a file forward from an offset, with at most one chunk in memory.
type cursor struct {
	ctx   context.Context
	r     io.ReaderAt
	size  int64
	chunk int // bytes in memory

	buf []byte
	lo  int   // index in buf of the next byte
	hi  int   // index in buf after the last byte
	off int64 // file offset of the next byte
}

func newCursor(ctx context.Context, r io.ReaderAt, off, size int64) *cursor {
	return &cursor{ctx: ctx, r: r, size: size, chunk: chunk, off: off}
}

// window returns the next bytes, at least n unless the file ends first. n is at most a
// chunk; last means that p reaches the end.
func (c *cursor) window(n int) (p []byte, last bool, err error) {
	for c.hi-c.lo < n && c.off+int64(c.hi-c.lo) < c.size {
		if err := c.ctx.Err(); err != nil {
			return nil, false, err
		}
		if c.buf == nil {
			c.buf = make([]byte, min(int64(c.chunk), c.size)) // jump may go back: not only the rest
		}
		if c.lo > 0 {
			c.hi = copy(c.buf, c.buf[c.lo:c.hi])
			c.lo = 0
		}
		at := c.off + int64(c.hi)
		got, err := c.r.ReadAt(c.buf[c.hi:min(int64(len(c.buf)), int64(c.hi)+c.size-at)], at)
		if got == 0 {
			return nil, false, unexpected(err)
		}
		c.hi += got
	}
	return c.buf[c.lo:c.hi], c.off+int64(c.hi-c.lo) == c.size, nil
}

func (c *cursor) advance(n int) { c.lo, c.off = c.lo+n, c.off+int64(n) }

// jump moves the cursor to another offset.
func (c *cursor) jump(off int64) { c.lo, c.hi, c.off = 0, 0, off }

// atEnd reports whether no byte follows.
func (c *cursor) atEnd() bool { return c.off >= c.size }

// skipLine moves past the next newline and reports whether there was one.
func (c *cursor) skipLine() (bool, error) {
	for !c.atEnd() {
		p, _, err := c.window(1)
		if err != nil {
			return false, err
		}
		if i := bytes.IndexByte(p, '\n'); i >= 0 {
			c.advance(i + 1)
			return true, nil
		}
		c.advance(len(p))
	}
	return false, nil
}

// lineWindow returns the next text of a line, without its CR LF or LF. ends means that
// p is the rest of the line; skip is then the length of its ending. Otherwise the line
// has more than n bytes left.
func (c *cursor) lineWindow(n int) (p []byte, ends bool, skip int, err error) {
	p, last, err := c.window(n + 2)
	if err != nil {
		return nil, false, 0, err
	}
	i := bytes.IndexByte(p, '\n')
	switch {
	case i > 0 && p[i-1] == '\r':
		return p[:i-1], true, 2, nil
	case i >= 0:
		return p[:i], true, 1, nil
	case last:
		return p, true, 0, nil
	}
	return p[:len(p)-1], false, 0, nil // the last byte may be the CR of a CR LF
}
