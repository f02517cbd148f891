package spill

import (
	"bytes"
	"errors"
	"io"
)

// A live shell on a terminal writes a fence after the last byte of each command:
// "ESC ] 133 ; D ; STATUS ; NONCE BEL", STATUS of up to three digits. The log is given the
// nonce before the command begins (docs/design/live-shells.md).
const (
	fenceHead   = "\x1b]133;D;"
	fenceDigits = 3

	// fenceWindow is how much of the end of a log is looked at when bytes come: more
	// than a master gives at a time.
	fenceWindow = 8 << 10
	// fenceReach is how far from the end a fence is looked for: what was left in the
	// background may have printed so much behind it.
	fenceReach = 1 << 20
)

// Fence is one in a log: its bytes are [From, To).
type Fence struct{ From, To int64 }

// fence is the one with a nonce.
type fence string

// longest is how long it is at most.
func (f fence) longest() int { return len(fenceHead) + fenceDigits + len(";") + len(f) + len("\a") }

// match reports how long the fence is with which p begins, 0 if it begins with none,
// and whether p may be the beginning of one.
func (f fence) match(p []byte) (n int, may bool) {
	if !bytes.HasPrefix(p, []byte(fenceHead)) {
		return 0, bytes.HasPrefix([]byte(fenceHead), p)
	}
	i := len(fenceHead)
	for digits := 0; i < len(p) && digits < fenceDigits && '0' <= p[i] && p[i] <= '9'; digits++ {
		i++
	}
	if i == len(p) {
		return 0, true
	}
	if i == len(fenceHead) {
		return 0, false
	}
	end := ";" + string(f) + "\a"
	if bytes.HasPrefix(p[i:], []byte(end)) {
		return i + len(end), false
	}
	return 0, bytes.HasPrefix([]byte(end), p[i:])
}

// visible is how much of the first size bytes of a log may be shown when the last n are
// new: all before the first byte with which a fence begins, or may begin if more comes.
// whole says that it is there to its end.
func (f fence) visible(r io.ReaderAt, size, n int64) (upTo int64, whole bool, err error) {
	from := max(0, size-min(n+int64(f.longest()), fenceWindow))
	p := make([]byte, size-from)
	if n, err := r.ReadAt(p, from); n < len(p) {
		return size, false, unread(err)
	}
	for i := 0; ; i++ {
		next := bytes.IndexByte(p[i:], fenceHead[0])
		if next < 0 {
			return size, false, nil
		}
		i += next
		if n, may := f.match(p[i:]); n > 0 || may {
			return from + int64(i), n > 0, nil
		}
	}
}

// last finds the last fence in the first size bytes of a log, if it is near the end.
func (f fence) last(r io.ReaderAt, size int64) (found Fence, ok bool, err error) {
	buf := make([]byte, min(size, fenceWindow))
	for to := size; to > max(0, size-fenceReach); {
		from := max(0, to-int64(len(buf)))
		p := buf[:to-from]
		if n, err := r.ReadAt(p, from); n < len(p) {
			return Fence{}, false, unread(err)
		}
		for i := len(p); ; {
			if i = bytes.LastIndexByte(p[:i], fenceHead[0]); i < 0 {
				break
			}
			if n, _ := f.match(p[i:]); n > 0 {
				return Fence{from + int64(i), from + int64(i+n)}, true, nil
			}
		}
		if from == 0 {
			break
		}
		to = from + int64(f.longest()-1) // one may be across the border
	}
	return Fence{}, false, nil
}

// unread is why bytes could not be read that should be there.
func unread(err error) error {
	if err == nil || errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}
