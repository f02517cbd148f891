package artifact

import (
	"context"
	"errors"
	"io"
	"math"
	"sync"

	"troupe/spill"
)

// Reader reads a file of any size by line: a page near its beginning costs that page,
// one further on the bytes before it, in chunks, once: where lines begin is remembered,
// sparsely. Lines may be longer than any buffer. It is safe for concurrent use.
type Reader struct {
	r    io.ReaderAt
	size int64
	o    ReaderOptions

	mu    sync.Mutex
	lines spill.LineIndex
	seen  lineMark // of the line that was read last
}

// ReaderOptions say what a line is.
type ReaderOptions struct {
	// LastEmpty: a newline at the end begins one more line, an empty one; so
	// does an empty file.
	LastEmpty bool
}

// lineMark is what is known of one line.
type lineMark struct {
	number int64
	from   int64 // where it begins
	length int64 // characters; -1: not counted yet
	chars  int64 // so many characters are
	at     int64 // before this place
}

// NewReader makes a reader of the first size bytes of r, which do not change.
func NewReader(r io.ReaderAt, size int64, o ReaderOptions) *Reader {
	return &Reader{r: r, size: size, o: o, seen: lineMark{number: -1}}
}

// Line is a line of a file, without its newline or the CR before it.
type Line struct {
	Number int64 // from 0
	Text   string
	Cut    bool // it goes on

	Match  bool  // of a search: it is what was looked for, not what is around it
	Column int64 // of a match in a line that is cut: characters before what was found
}

// Count is how many lines there are. It reads all of the file, once.
func (r *Reader) Count(ctx context.Context) (int64, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if err := r.advance(ctx, math.MaxInt64); err != nil {
		return 0, err
	}
	return r.total(), nil
}

// total is how many lines there are, once all were counted.
func (r *Reader) total() int64 {
	if r.o.LastEmpty {
		ends, _ := r.lines.Ends()
		return ends + 1
	}
	n, _ := r.lines.Count()
	return n
}

// maxStep is how much is read before somebody asks again whether it is still wanted:
// some tenths of a second.
const maxStep = 256 << 20

// advance counts lines until so many newlines were seen, or all. Called with r.mu.
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
			return io.ErrUnexpectedEOF // there is less than was said
		}
	}
}

// seek is where line n begins; found is false if there is none, and n then how many
// there are.
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

// sizedLog is a file as a log that is closed and has no gaps, so that lines can be
// counted as those of a log are.
type sizedLog struct {
	io.ReaderAt
	size int64
}

func (l sizedLog) State() spill.State { return spill.State{Size: l.size, Closed: true} }
func (l sizedLog) Close() error       { return nil }

// ErrNoLine says that a line was asked for that a file does not have.
var ErrNoLine = errors.New("there is no such line")
