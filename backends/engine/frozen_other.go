//go:build !linux

package engine

// frozen returns false: stopped processes are not seen here.
func (j *job) frozen() bool { return false }
