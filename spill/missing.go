package spill

import "io"

// Missing is the log of an output that was written and is not kept any more: all
// of its size bytes are a gap. Of size 0 it is that of an output which nobody wrote.
func Missing(size int64) Log { return missing(size) }

// IsMissing reports whether a log is a Missing one.
func IsMissing(l Log) bool {
	m, is := l.(missing)
	return is && m > 0
}

type missing int64

// State implements Log.
func (m missing) State() State {
	s := State{Size: int64(m), Closed: true}
	if m > 0 {
		s.Gaps = []Gap{{From: 0, To: int64(m)}}
	}
	return s
}

// ReadAt implements Log.
func (m missing) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(max(int64(m)-off, 0), int64(len(p))))
	clear(p[:n])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Close implements Log.
func (missing) Close() error { return nil }

// Whole is the log of an output that is all in data.
func Whole(data []byte) Log { return whole(data) }

type whole []byte

// State implements Log.
func (w whole) State() State { return State{Size: int64(len(w)), Closed: true} }

// ReadAt implements Log.
func (w whole) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, w[min(max(off, 0), int64(len(w))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Close implements Log.
func (whole) Close() error { return nil }

// EvictedReason is the reason of an error about a log that is not kept any more.
const EvictedReason = "evicted"

// Afar is a Log that asks another process for its State. Err says why that could
// not tell it when it was asked last; nil: it did.
type Afar interface{ Err() error }

// ErrOf is what an Afar log says, nil of another.
func ErrOf(l Log) error {
	if a, ok := l.(Afar); ok {
		return a.Err()
	}
	return nil
}
