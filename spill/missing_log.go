package spill

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
