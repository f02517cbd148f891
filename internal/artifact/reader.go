package artifact

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"

	"troupe/spill"
)

// Reader reads a file of any size by line. It reads in chunks up to the requested line
// and keeps a sparse index of line starts. Lines may be longer than any buffer. It is
// safe for concurrent use.
type Reader struct {
	r    io.ReaderAt
	size int64
	o    ReaderOptions

	mu    sync.Mutex
	lines spill.LineIndex
	seen  lineMark // line read last
}

// ReaderOptions define what a line is.
type ReaderOptions struct {
	// LastEmpty makes a final newline, or an empty file, begin one more line, an empty
	// one.
	LastEmpty bool
}

// lineMark is the known state of one line.
type lineMark struct {
	number int64
	from   int64 // file offset of its first character
	length int64 // characters; -1: not counted yet
	chars  int64 // characters before at
	at     int64 // file offset
}

// NewReader returns a reader of the first size bytes of r, which must not change.
func NewReader(r io.ReaderAt, size int64, o ReaderOptions) *Reader {
	return &Reader{r: r, size: size, o: o, seen: lineMark{number: -1}}
}

// Line is a line of a file, without its LF or CR LF.
type Line struct {
	Number int64 // counted from 0
	Text   string
	Cut    bool // Text is not the whole line

	Match  bool  // matches the search, is not context
	Column int64 // characters before the match, if Cut
}

// Count returns the number of lines. It reads the whole file, once.
func (r *Reader) Count(ctx context.Context) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.advance(ctx, math.MaxInt64); err != nil {
		return 0, err
	}
	return r.total(), nil
}

// total returns the number of lines after all were counted.
func (r *Reader) total() int64 {
	if r.o.LastEmpty {
		ends, _ := r.lines.Ends()
		return ends + 1
	}
	n, _ := r.lines.Count()
	return n
}

// maxStep is how many bytes are read between two checks of the context, some tenths of
// a second.
const maxStep = 256 << 20

// advance counts newlines up to ends, or to the end of the file. The caller holds r.mu.
func (r *Reader) advance(ctx context.Context, ends int64) error {
	for step := int64(chunk); ; step = min(2*step, maxStep) {
		seen := r.lines.Seen()
		if n, _ := r.lines.Ends(); n >= ends || seen >= r.size {
			return nil
		}
		if err := ctx.Err(); err != nil {
			return err
		}
		if _, err := r.lines.Advance(sizedLog{r.r, r.size}, step); err != nil {
			return err
		}
		if r.lines.Seen() == seen {
			return io.ErrUnexpectedEOF // the file is shorter than size
		}
	}
}

// seek returns the offset of a line. If there is none, found is false and n the number
// of lines.
func (r *Reader) seek(ctx context.Context, line int64) (off, n int64, found bool, err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.advance(ctx, line); err != nil {
		return 0, 0, false, err
	}
	if ends, _ := r.lines.Ends(); line > ends || r.lines.Seen() == r.size && line >= r.total() {
		return 0, r.total(), false, nil
	}
	mark := r.lines.Before(line + 1)
	c := newCursor(ctx, r.r, mark.Offset, r.size)
	for n := mark.Line; n <= line; n++ {
		if _, err := c.skipLine(); err != nil {
			return 0, 0, false, err
		}
	}
	return c.off, line, true, nil
}

// sizedLog presents a file as a closed log without gaps, so that a LineIndex can count
// its lines.
type sizedLog struct {
	io.ReaderAt
	size int64
}

func (l sizedLog) State() spill.State { return spill.State{Size: l.size, Closed: true} }
func (l sizedLog) Close() error       { return nil }

// ErrNoLine means that the file does not have the requested line.
var ErrNoLine = errors.New("no such line")
