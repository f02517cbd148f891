//go:build ignore

// Package main shows what the library does, in programs of at most 30 lines: go run
// examples/output.go. A test runs each of them, and all but dialect.go also against a daemon.
//
// Files:
//
//	background.go  starts a job, and waits for it later
//	cancel.go      stops a job and its processes with a context
//	daemon.go      runs a job in the daemon
//	dialect.go     calls a tool of an agent's dialect over MCP
//	events.go      receives the end of every job
//	output.go      runs a command, and takes what it has written
//	session.go     runs commands in one live shell
//	stdin.go       writes to a job
//	stream.go      reads the output while the job runs
//	terminal.go    types at a program on a terminal
package main
