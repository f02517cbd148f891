package artifact

import (
	"bytes"
	"strings"
)

// newline is constant.
var newline = []byte{'\n'}

// TailBuffer keeps the end of a text that arrives in pieces. Before the first
// byte is lost it opens a file, which gets the whole text. Memory is at most
// twice the limit. It is not safe for concurrent use.
type TailBuffer struct {
	tail *Tail
	out  spillFile

	bytes, ends int64 // totals of the text: bytes and newlines
	truncated   bool
}

// NewTailBuffer returns a buffer of limit bytes. It calls open at most once for the
// file. If open is nil or fails, there is no file and no error.
func NewTailBuffer(limit int, open func() (*File, error)) *TailBuffer {
	return &TailBuffer{tail: NewTail(limit), out: spillFile{open: open}}
}

// Write appends p. It never fails.
func (w *TailBuffer) Write(p []byte) (int, error) {
	if w.bytes+int64(len(p)) > int64(w.tail.limit) {
		if !w.truncated {
			w.out.begin(w.tail.bytes) // nothing was lost before: the tail is the whole text
		}
		w.truncated = true
		w.out.add(p)
	}
	w.bytes += int64(len(p))
	w.ends += int64(bytes.Count(p, newline))
	return w.tail.Write(p)
}

// Summary describes what a TailBuffer has taken. Lines are newlines plus one, 0
// for an empty text.
type Summary struct {
	Text        string // the annotation, if any, and the kept text
	Truncated   bool   // some text was dropped
	TotalLines  int64
	TotalBytes  int64
	OutputLines int64
	OutputBytes int64
	File        *File // whole text, closed; nil: none
}

// Close closes the file and returns the totals. A non-empty annotation is the first
// line of the text.
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

// spillFile is a file that is created late and dropped at the first error.
type spillFile struct {
	open func() (*File, error)
	file *File
}

// begin creates the file and writes the earlier bytes.
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

// end closes the file and returns it; nil if it is incomplete.
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
