//go:build !linux

package engine

import "golang.org/x/sys/unix"

// peek does nothing where an exit is known only by the reap.
func (j *job) peek(*ending) bool { return false }

// recall does nothing where a status is told once.
func (r *root) recall(*unix.WaitStatus) bool { return false }
