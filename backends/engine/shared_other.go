//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package engine

// begin has the output moved from now on, in a goroutine of its own.
func (s *stream) begin() { s.handOver() }

// attachShared is not to be had: no goroutine is common to streams here.
func (s *stream) attachShared() bool { return false }

// detachShared has nothing to take.
func (s *stream) detachShared() bool { return false }
