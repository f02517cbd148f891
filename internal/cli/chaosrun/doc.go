// Package chaosrun runs a command against a daemon of its own to whose jobs the faults of a plan
// happen, and reports the faults and the jobs.
//
//	run.go      the daemon's directory and environment, the command
//	server.go   starts the daemon again when it has died
//	process_fd.go  notices the end of the daemon; refuses other platforms
//	report.go   the faults, and how the jobs ended
package chaosrun
