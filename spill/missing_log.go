package spill

import "io"

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
