package main

import "golang.org/x/sys/unix"

// keepOurs keeps what the caller left open from a program that we start: somebody
// may wait for its end.
func keepOurs() error { return unix.CloseRange(3, ^uint(0), unix.CLOSE_RANGE_CLOEXEC) }
