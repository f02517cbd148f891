//go:build !linux

package main

// setCloseOnExec can only count on what the Go library opened, which no program that we
// start inherits.
func setCloseOnExec() error { return nil }

// undumpable does nothing where the kernel knows no such thing.
func undumpable() {}

// waitForExit can wait for no process that is not ours.
func waitForExit(int) func() { return func() {} }
