// Package dialect holds what the dialects of agent hosts share: the Host that they need, the
// shape of a tool, and ways to follow a job and wait for its end. A dialect turns parameters
// into a messages.RunCommand or an error, and a job with its output into the text and details
// of one front end. It starts no process and changes no record. State between calls lives in a
// session of the dialect, on top of a Host.
//
//	decode.go     decodes the arguments of a call
//	defaults.go   fills in a session's log and clock, and combines contexts
//	follow.go     follows a stream as it grows, and copies a part of it
//	host.go       declares Host, the node as a dialect sees it
//	jobs.go       asks a host for the jobs, sessions and input of a tool
//	log.go        reads a stream as an io.ReaderAt
//	policy.go     declares Policy, which decides how a command may run
//	schema.go     describes parameters to a model
//	scope_hold.go  holds the scope of a client by a lease
//	screen.go     reads the screen of a job
//	tool.go       declares Tool, Call and Result
//	wait_end.go   waits for the end of a job, with retries
package dialect
