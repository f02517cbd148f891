package artifact

import (
	"bytes"
	"io"
	"unicode/utf8"
)

// Marker returns the text that replaces left bytes in a line.
type Marker func(left int64) string

// truncateLine returns the line [from, to) of r in at most n bytes, with its newline.
// It leaves out the middle, at runes, and returns how many bytes that was. The
// text is empty if not even the marker fits. It reads at most n bytes.
func truncateLine(r io.ReaderAt, from, to int64, n int, mark Marker) (string, int64, error) {
	ending, err := lineEnd(r, from, to)
	if err != nil {
		return "", 0, err
	}
	to -= int64(len(ending))
	if to-from <= int64(n-len(ending)) {
		p, err := readRange(r, from, to)
		if s := text(p); err != nil || len(s) <= n-len(ending) {
			return s + ending, 0, err
		}
	}
	room := n - len(ending) - len(mark(to-from))
	if room < 0 {
		return "", to - from, nil
	}
	head, err := readRange(r, from, min(to, from+int64(room-room/2)))
	if err != nil {
		return "", 0, err
	}
	head = head[:fitsFirst(head[:wholeTo(head)], room-room/2)]
	tail, err := readRange(r, max(from+int64(len(head)), to-int64(room/2)), to)
	if err != nil {
		return "", 0, err
	}
	tail = tail[alignFrom(tail, 0):]
	tail = tail[fitsLast(tail, room/2):]
	left := to - from - int64(len(head)) - int64(len(tail))
	return text(head) + mark(left) + text(tail) + ending, left, nil
}

// lineEnd returns the newline of a line, or "".
func lineEnd(r io.ReaderAt, from, to int64) (string, error) {
	if from == to {
		return "", nil
	}
	p, err := readRange(r, to-1, to)
	if err != nil || p[0] != '\n' {
		return "", err
	}
	return "\n", nil
}

// readRange reads [from, to), which must exist.
func readRange(r io.ReaderAt, from, to int64) ([]byte, error) {
	p := make([]byte, max(0, to-from))
	n, err := r.ReadAt(p, from)
	if n == len(p) {
		return p, nil
	}
	if err == nil || err == io.EOF {
		err = io.ErrUnexpectedEOF
	}
	return nil, err
}

// textLen returns the length of p as UTF-8, in bytes.
func textLen(p []byte) int {
	n := len(p)
	for len(p) > 0 {
		if i := bytes.IndexFunc(p, func(r rune) bool { return r == utf8.RuneError }); i < 0 {
			break
		} else {
			p = p[i:]
		}
		_, size := utf8.DecodeRune(p)
		if size == 1 {
			n += len("\uFFFD") - 1
		}
		p = p[size:]
	}
	return n
}

// fitsFirst returns the length of the longest prefix of p, in whole runes, that is at
// most n bytes of text.
func fitsFirst(p []byte, n int) int {
	at := 0
	for at < len(p) {
		r, size := utf8.DecodeRune(p[at:])
		if n -= utf8.RuneLen(r); n < 0 {
			break
		}
		at += size
	}
	return at
}

// fitsLast returns where the longest suffix of p begins that is at most n bytes of
// text.
func fitsLast(p []byte, n int) int {
	at := len(p)
	for at > 0 {
		r, size := utf8.DecodeLastRune(p[:at])
		if n -= utf8.RuneLen(r); n < 0 {
			break
		}
		at -= size
	}
	return at
}

// LeftOut returns the Marker for the middle of a line that a file holds.
func LeftOut(left int64) string {
	return "... [" + Thousands(left) + " bytes of this line are left out; the file has them] ..."
}

// NotKept returns the line that stands for a gap of n bytes in a log.
func NotKept(n int64) string {
	return "[... " + Thousands(n) + " bytes were not kept ...]\n"
}
