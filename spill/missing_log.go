package spill

import "io"

// MissingLog is the log of an output that was written and is not kept any more: all
// of its size bytes are a gap. Of size 0 it is that of an output which nobody wrote.
func MissingLog(size int64) Log { return missingLog(size) }

// IsMissing reports whether a log is a Missing one.
func IsMissing(l Log) bool {
	m, is := l.(missingLog)
	return is && m > 0
}

type missingLog int64

// State implements Log.
func (m missingLog) State() State {
	s := State{Size: int64(m), Closed: true}
	if m > 0 {
		s.Gaps = []Gap{{From: 0, To: int64(m)}}
	}
	return s
}

// ReadAt implements Log.
func (m missingLog) ReadAt(p []byte, off int64) (int, error) {
	n := int(min(max(int64(m)-off, 0), int64(len(p))))
	clear(p[:n])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Close implements Log.
func (missingLog) Close() error { return nil }

// MemoryLog is the log of an output that is all in data.
func MemoryLog(data []byte) Log { return memoryLog(data) }

type memoryLog []byte

// State implements Log.
func (w memoryLog) State() State { return State{Size: int64(len(w)), Closed: true} }

// ReadAt implements Log.
func (w memoryLog) ReadAt(p []byte, off int64) (int, error) {
	n := copy(p, w[min(max(off, 0), int64(len(w))):])
	if n < len(p) {
		return n, io.EOF
	}
	return n, nil
}

// Close implements Log.
func (memoryLog) Close() error { return nil }

// EvictedReason is the reason of an error about a log that is not kept any more.
const EvictedReason = "evicted"

// RemoteLog is a Log that asks another process for its State. Err says why that could
// not tell it when it was asked last; nil: it did.
type RemoteLog interface{ Err() error }

// ErrOf is what an Afar log says, nil of another.
func ErrOf(l Log) error {
	if a, ok := l.(RemoteLog); ok {
		return a.Err()
	}
	return nil
}
