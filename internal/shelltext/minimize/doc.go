// Package minimize removes noise from outputs: progress, passed tests, hints. It is pure
// and errs towards the raw output: what it does not recognise stays. The log keeps
// every byte.
//
//	choose.go       choice and application of the filters of a call
//	filters.go      filters in TOML: the user's and the built-in ones
//	git.go          diffs and logs of git
//	gotest.go       output of go test
//	listing.go      ls -l, find and grep
//	minimize.go     Minimize, its settings and labels
//	own.go          filters written in Go, by program
//	pipeline.go     running a TOML filter
//	program.go      program and subcommand of a command
//	repeats.go      repeated lines
//	simple.go       the words of a simple command
//	subcommand.go   global flags of programs
//	texts.go        texts that replace what was removed; errors
package minimize
