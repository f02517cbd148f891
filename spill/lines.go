package spill

import (
	"bytes"
	"io"
	"sort"
)

const (
	// linesChunk is the read size of Advance, in bytes.
	linesChunk = 64 << 10

	// maxMarks bounds the marks of one index, 16 bytes each.
	maxMarks = 4096

	// linesBlock is the number of bytes that are counted in one call when no mark is
	// due.
	linesBlock = 4 << 10
)

// LineStart is the beginning of a line. Line counts from 1.
type LineStart struct{ Line, Offset int64 }

// LineIndex counts the lines of a log and remembers where some of them begin. Its
// memory is bounded for any log. Each Advance goes forward by a limited step, so that
// an actor can index a log between messages. A gap hides lines: the count is exact up
// to the gap and a lower bound after it. It is not safe for concurrent use.
type LineIndex struct {
	next    int64 // offset of the first byte that is not indexed
	ends    int64 // newlines before next
	open    bool  // the byte before next is not a newline
	inexact bool  // set once a gap hid lines
	hidden  int64 // offset of the first such gap
	known   int64 // newlines before hidden

	marks      []LineStart // at least one per lineStride lines and per byteStride bytes
	lineStride int64
	byteStride int64
}

// Advance indexes at most limit more bytes of log and reports whether there are more.
func (l *LineIndex) Advance(log Log, limit int64) (more bool, err error) {
	st := log.State()
	end := min(st.Size, l.next+limit)
	var buf []byte
	for l.next < end {
		if buf == nil {
			buf = make([]byte, min(linesChunk, end-l.next))
		}
		p := buf[:min(int64(len(buf)), end-l.next)]
		n, err := log.ReadAt(p, l.next)
		if err != nil && err != io.EOF {
			return false, err
		}
		if n == 0 {
			break
		}
		l.take(p[:n], log.State().Gaps)
	}
	return l.next < log.State().Size, nil
}

// take indexes p, which begins at l.next. Bytes in a gap count nothing.
func (l *LineIndex) take(p []byte, missing gaps) {
	from := l.next
	to := from + int64(len(p))
	_ = missing.keep(from, to, func(a, b int64) error {
		l.skip(a)
		l.count(p[a-from : b-from])
		return nil
	})
	l.skip(to)
}

// skip moves next over a gap.
func (l *LineIndex) skip(to int64) {
	if to > l.next {
		if !l.inexact {
			l.known, l.hidden = l.ends, l.next
		}
		l.next, l.inexact, l.open = to, true, true
	}
}

// count indexes bytes outside gaps.
func (l *LineIndex) count(p []byte) {
	for len(p) > 0 {
		block := p[:min(len(p), linesBlock)]
		p = p[len(block):]
		ends := int64(bytes.Count(block, []byte{'\n'}))
		if !l.due(ends, int64(len(block))) {
			l.ends += ends
			l.next += int64(len(block))
		} else {
			l.countMarking(block)
		}
		l.open = block[len(block)-1] != '\n'
	}
}

// countMarking indexes a block in which a mark may be due.
func (l *LineIndex) countMarking(p []byte) {
	for {
		i := bytes.IndexByte(p, '\n') + 1
		if i == 0 {
			l.next += int64(len(p))
			return
		}
		p = p[i:]
		l.next += int64(i)
		l.ends++
		if l.due(0, 0) {
			l.mark()
		}
	}
}

// due reports whether a mark belongs within the next lines and size bytes.
func (l *LineIndex) due(lines, size int64) bool {
	last := LineStart{Line: 1}
	if len(l.marks) > 0 {
		last = l.marks[len(l.marks)-1]
	}
	return l.ends+lines+1-last.Line >= l.lineStride || l.next+size-last.Offset >= l.byteStride
}

// mark remembers the line that begins at next. A full index drops every other mark and
// doubles its strides.
func (l *LineIndex) mark() {
	if len(l.marks) == maxMarks {
		kept := l.marks[:0]
		for i := 1; i < maxMarks; i += 2 {
			kept = append(kept, l.marks[i])
		}
		l.marks = kept
		l.lineStride = max(1, l.lineStride) * 2
		l.byteStride = max(linesChunk, l.byteStride*2)
	}
	l.marks = append(l.marks, LineStart{Line: l.ends + 1, Offset: l.next})
}

// Count returns the number of lines, with an unterminated last line. exact is false
// once a gap hid lines.
func (l *LineIndex) Count() (n int64, exact bool) {
	n = l.ends
	if l.open {
		n++
	}
	return n, !l.inexact
}

// Ends returns the number of newlines; exact is as in Count.
func (l *LineIndex) Ends() (n int64, exact bool) { return l.ends, !l.inexact }

// Hidden returns the offset of the first gap that hid lines, and the number of newlines
// before it. Lines after it have no number. hid is false if there is no such gap.
func (l *LineIndex) Hidden() (off, ends int64, hid bool) { return l.hidden, l.known, l.inexact }

// Seen returns how many bytes of the log are indexed.
func (l *LineIndex) Seen() int64 { return l.next }

// Before returns the last known beginning of a line at or before line n.
func (l *LineIndex) Before(n int64) LineStart {
	i := sort.Search(len(l.marks), func(i int) bool { return l.marks[i].Line > n })
	if i == 0 {
		return LineStart{Line: 1}
	}
	return l.marks[i-1]
}

// After returns the first known beginning of a line at or after off, or the place where
// the index ends.
func (l *LineIndex) After(off int64) LineStart {
	i := sort.Search(len(l.marks), func(i int) bool { return l.marks[i].Offset >= off })
	if i == len(l.marks) {
		return LineStart{Line: l.ends + 1, Offset: l.next}
	}
	return l.marks[i]
}
