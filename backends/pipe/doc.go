// Package pipe is the default backend. Each command is one process tree, with input and output
// on pipes, or on a terminal if it asks for one. The commands of a session run in parallel. The
// backend uses any engine.
//
// A new shell without start files runs each text, so that a command does the same everywhere.
// An argv runs as it is.
//
// Files:
//
//	backend.go         Backend and its options
//	check.go           checks of a command before a job is made of it
//	dir_reachable.go   whether a directory can be entered without blocking
//	executor.go        starts, adopts and stops the commands of a session
//	job.go             jobs, and the engine's processes for their owners
//	shell_lookup.go    shells and the words before a text
//	terminal.go        sizes of terminals, and TERM
//	text_stub.go       texts that are kept out of argv
package pipe
