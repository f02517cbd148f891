//go:build !linux

package main

// keepOurs can only count on what the Go library opened, which no program that we
// start inherits.
func keepOurs() error { return nil }

// undumpable does nothing where the kernel knows no such thing.
func undumpable() {}

// ending can wait for no process that is not ours.
func ending(int) func() { return func() {} }
