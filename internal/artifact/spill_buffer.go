package artifact

import "unicode/utf8"

// SpillBuffer holds a text that arrives in pieces: in memory up to a threshold, then in
// a file. It also keeps the first and last characters. Result is valid at any
// time. It is not safe for concurrent use.
type SpillBuffer struct {
	win  *TailBuffer
	head []byte // first characters, and more
	end  *Tail  // last characters, and more
	// first and last are the characters to show, in runes.
	first int
	last  int
}

// SpillResult describes what a SpillBuffer has taken.
type SpillResult struct {
	Bytes int64
	Large bool   // exceeds the threshold
	Text  string // whole text; "" if Large
	Head  string // first characters of a large text
	Tail  string // last characters of a large text
	File  *File  // whole text so far; nil: not large, or not writable
}

// NewSpillBuffer returns a buffer with a threshold in bytes. Of a larger text it shows
// the first head and the last tail runes. open is as for NewTailBuffer.
func NewSpillBuffer(threshold, head, tail int, open func() (*File, error)) *SpillBuffer {
	return &SpillBuffer{win: NewTailBuffer(threshold, open), end: NewTail(tail * utf8.UTFMax), first: head, last: tail}
}

// Write appends p. It never fails.
func (l *SpillBuffer) Write(p []byte) (int, error) {
	room := l.first*utf8.UTFMax - len(l.head)
	l.head = append(l.head, p[:max(0, min(room, len(p)))]...)
	_, _ = l.end.Write(p) // never fails
	return l.win.Write(p)
}

// Result returns what was taken so far.
func (l *SpillBuffer) Result() SpillResult {
	r := SpillResult{Bytes: l.win.bytes, Large: l.win.truncated, File: l.win.out.file}
	if !r.Large {
		r.Text = l.win.tail.whole()
		return r
	}
	head := l.head
	if l.win.bytes > int64(len(head)) {
		head = head[:wholeTo(head)]
	}
	r.Head = firstRunes(text(head), l.first)
	r.Tail = lastRunes(l.end.whole(), l.last)
	return r
}

// Fits reports whether n more bytes are below the threshold.
func (l *SpillBuffer) Fits(n int) bool {
	return !l.win.truncated && l.win.bytes+int64(n) <= int64(l.win.tail.limit)
}

// Close closes the file and keeps it.
func (l *SpillBuffer) Close() SpillResult {
	l.win.out.end()
	return l.Result()
}
