package artifact

import (
	"bytes"
	"strings"
)

// newline is a constant; nobody writes to it.
var newline = []byte{'\n'}

// TailBuffer takes a text in any pieces and keeps its end: what it cannot keep is
// in a file, which is opened when the first byte would be lost and then has all of
// the text from its first byte on. Memory is twice the limit at most. It is
// not safe for concurrent use.
type TailBuffer struct {
	tail *Tail
	out  spillFile

	bytes, ends int64 // of all of the text
	truncated   bool
}

// NewTailBuffer makes a window of limit bytes. open makes the file, once; nil or an
// error: there is none, and nobody needs to hear of it.
func NewTailBuffer(limit int, open func() (*File, error)) *TailBuffer {
	return &TailBuffer{tail: NewTail(limit), out: spillFile{open: open}}
}

// Write adds a piece. It never fails.
func (w *TailBuffer) Write(p []byte) (int, error) {
	if w.bytes+int64(len(p)) > int64(w.tail.limit) {
		if !w.truncated {
			w.out.begin(w.tail.bytes) // nothing was lost yet: held is all
		}
		w.truncated = true
		w.out.add(p)
	}
	w.bytes += int64(len(p))
	w.ends += int64(bytes.Count(p, newline))
	return w.tail.Write(p)
}

// Tail is the text kept so far, for whoever watches.
func (w *TailBuffer) Tail() string { return w.tail.String() }

// Summary is what a window has taken. Lines are newlines and one more, none
// if there was no text.
type Summary struct {
	Text        string // the annotation, if there is one, and what was kept
	Truncated   bool   // more came than was kept
	TotalLines  int64
	TotalBytes  int64
	OutputLines int64
	OutputBytes int64
	File        *File // has all of it, closed; nil: there is none
}

// Close says that no more comes, closes the file and tells what came. annotation is
// a line of the caller's that goes first; "": none.
func (w *TailBuffer) Close(annotation string) Summary {
	kept := w.tail.whole()
	s := Summary{
		Text: kept, Truncated: w.truncated, File: w.out.end(),
		TotalBytes: w.bytes, OutputBytes: int64(len(kept)),
		OutputLines: lineCount(int64(strings.Count(kept, "\n")), int64(len(kept))),
		TotalLines:  lineCount(w.ends, w.bytes),
	}
	if annotation != "" {
		s.Text = annotation + "\n" + kept
	}
	return s
}

func lineCount(ends, size int64) int64 {
	if size == 0 {
		return 0
	}
	return ends + 1
}

// spillFile is a file that is made late and given up at the first error.
type spillFile struct {
	open func() (*File, error)
	file *File
}

// begin makes the file with what came before.
func (s *spillFile) begin(before []byte) {
	if s.open == nil {
		return
	}
	file, err := s.open()
	if err != nil {
		return
	}
	s.file = file
	s.add(before)
}

func (s *spillFile) add(p []byte) {
	if s.file == nil {
		return
	}
	if _, err := s.file.Write(p); err != nil {
		s.file.Discard()
		s.file = nil
	}
}

// end closes the file; nil if it does not have all.
func (s *spillFile) end() *File {
	if s.file == nil {
		return nil
	}
	if err := s.file.Close(); err != nil {
		s.file.Discard()
		s.file = nil
	}
	return s.file
}
