//go:build !linux

package connect

// neutralStart calls start.
func neutralStart(start func() error) error { return start() }
