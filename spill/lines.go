package spill

import (
	"bytes"
	"io"
	"sort"
)

const (
	// linesChunk is how much of a log is in memory while its lines are counted.
	linesChunk = 64 << 10

	// maxMarks bounds the index of a log: 16 bytes each.
	maxMarks = 4096

	// linesBlock is counted at one go when no mark is due in it.
	linesBlock = 4 << 10
)

// LineStart says where a line begins: Line counts from 1.
type LineStart struct{ Line, Offset int64 }

// LineIndex counts the lines of a log and remembers where some of them begin. It
// works when it is asked to and only goes forward, so that an actor can do it in
// short steps; its memory is bounded whatever the log is. A gap hides lines: what
// was counted before it opened stays right, what comes after is a lower bound.
// It is not safe for concurrent use.
type LineIndex struct {
	next    int64 // offset of the first byte not looked at
	ends    int64 // newlines before it
	open    bool  // the byte before it is no newline
	inexact bool  // a gap hid lines
	hidden  int64 // where the first such gap begins
	known   int64 // newlines before it

	marks      []LineStart // one each stride lines or span bytes, whichever is less far
	lineStride int64
	byteStride int64
}

// Advance looks at the next bytes of log, at most limit of them, and says
// whether there are more.
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

// take counts p, which stands at l.next. What a gap covers counts as nothing.
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

// skip goes over a gap.
func (l *LineIndex) skip(to int64) {
	if to > l.next {
		if !l.inexact {
			l.known, l.hidden = l.ends, l.next
		}
		l.next, l.inexact, l.open = to, true, true
	}
}

// count counts bytes that are there.
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

// countMarking counts a block in which a mark may be due.
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

// due reports whether a mark belongs within the next lines and bytes.
func (l *LineIndex) due(lines, size int64) bool {
	last := LineStart{Line: 1}
	if len(l.marks) > 0 {
		last = l.marks[len(l.marks)-1]
	}
	return l.ends+lines+1-last.Line >= l.lineStride || l.next+size-last.Offset >= l.byteStride
}

// mark remembers the line that begins at l.next. A full index keeps every other
// mark and sets the next ones twice as far apart.
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

// Count is how many lines were seen: an unterminated last line counts. exact is
// false once a gap hid some.
func (l *LineIndex) Count() (n int64, exact bool) {
	n = l.ends
	if l.open {
		n++
	}
	return n, !l.inexact
}

// Ends is how many newlines were seen, and whether none was hidden.
func (l *LineIndex) Ends() (n int64, exact bool) { return l.ends, !l.inexact }

// Hidden is where the first gap begins that hid lines when they were counted, and
// how many newlines are before it: what is behind it has no number. False: none did.
func (l *LineIndex) Hidden() (off, ends int64, hid bool) { return l.hidden, l.known, l.inexact }

// Seen is how much of the log was looked at.
func (l *LineIndex) Seen() int64 { return l.next }

// Before is the last known beginning of a line at or before line n.
func (l *LineIndex) Before(n int64) LineStart {
	i := sort.Search(len(l.marks), func(i int) bool { return l.marks[i].Line > n })
	if i == 0 {
		return LineStart{Line: 1}
	}
	return l.marks[i-1]
}

// After is the first known beginning of a line at or behind off, or where the
// count has come to.
func (l *LineIndex) After(off int64) LineStart {
	i := sort.Search(len(l.marks), func(i int) bool { return l.marks[i].Offset >= off })
	if i == len(l.marks) {
		return LineStart{Line: l.ends + 1, Offset: l.next}
	}
	return l.marks[i]
}
