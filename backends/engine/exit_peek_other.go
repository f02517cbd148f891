//go:build !linux

package engine

import "golang.org/x/sys/unix"

// peekExit does nothing: only the reap returns the exit here.
func (j *job) peekExit(*mainExit) bool { return false }

// recall does nothing: the status can be read only once here.
func (r *mainProcess) recall(*unix.WaitStatus) bool { return false }
