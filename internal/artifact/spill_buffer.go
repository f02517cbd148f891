package artifact

import "unicode/utf8"

// SpillBuffer is a text that comes in any pieces: it is in memory up to a threshold, then
// in a file, with its first and last characters kept beside. It can be looked
// at at any time. It is not safe for concurrent use.
type SpillBuffer struct {
	win   *TailBuffer
	head  []byte // its first characters, and more
	end   *Tail  // its last ones, and more
	first int
	last  int
}

// SpillResult is what a Large has taken.
type SpillResult struct {
	Bytes int64
	Large bool   // it is more than the threshold
	Text  string // all of it; "" if it is large
	Head  string // of a large text: its first characters
	Tail  string // and its last
	File  *File  // has all of it so far; nil: it is not large, or no file could be written
}

// NewSpillBuffer makes a Large of a threshold in bytes, which shows the first head and the
// last tail characters (runes) of what is larger. open is as NewTailBuffer's.
func NewSpillBuffer(threshold, head, tail int, open func() (*File, error)) *SpillBuffer {
	return &SpillBuffer{win: NewTailBuffer(threshold, open), end: NewTail(tail * utf8.UTFMax), first: head, last: tail}
}

// Write adds a piece. It never fails.
func (l *SpillBuffer) Write(p []byte) (int, error) {
	room := l.first*utf8.UTFMax - len(l.head)
	l.head = append(l.head, p[:max(0, min(room, len(p)))]...)
	_, _ = l.end.Write(p) // never fails
	return l.win.Write(p)
}

// Result is what was taken so far.
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

// Close closes the file, which stays.
func (l *SpillBuffer) Close() SpillResult {
	l.win.out.end()
	return l.Result()
}
