//go:build !linux

package connect

// setCloseOnExec can only count on what the Go library opened, which no program that we
// start inherits.
func setCloseOnExec() error { return nil }

// DisableDumps does nothing where the kernel knows no such thing.
func DisableDumps() {}

// WaitForExit can wait for no process that is not ours.
func WaitForExit(int) func() { return func() {} }
