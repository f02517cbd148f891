//go:build darwin || freebsd || netbsd || openbsd || dragonfly

package engine

// begin has the output moved from now on, in a goroutine of its own.
func (s *stream) begin() { s.handOver() }

// ignore has nothing to take: no goroutine is common to streams here.
func (s *stream) ignore() bool { return false }
