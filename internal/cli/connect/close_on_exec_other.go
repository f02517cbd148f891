//go:build !linux

package connect

// setCloseOnExec does nothing: only the files opened by Go code are close-on-exec here.
func setCloseOnExec() error { return nil }

// DisableDumps does nothing on this platform.
func DisableDumps() {}

// WaitForExit returns at once: only the parent can wait for a process here.
func WaitForExit(int) func() { return func() {} }
