//go:build !linux

package engine

import "golang.org/x/sys/unix"

// peekExit does nothing where an exit is known only by the reap.
func (j *job) peekExit(*mainExit) bool { return false }

// recall does nothing where a status is told once.
func (r *mainProcess) recall(*unix.WaitStatus) bool { return false }
