//go:build !linux

package engine

// peek does nothing where an exit is known only by the reap.
func (j *job) peek(*ending) bool { return false }
