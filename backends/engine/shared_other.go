//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package engine

// begin starts copying output, in its own goroutine.
func (s *stream) begin() { s.handOver() }

// attachShared returns false: streams share no goroutine here.
func (s *stream) attachShared() bool { return false }

// detachShared returns false: there is nothing to detach.
func (s *stream) detachShared() bool { return false }
