// Package limits keeps what the daemon and its keepers inherit from ending them: a soft limit of a
// shell, a limit of CPU time, a nice value. Jobs start with what the daemon was started with,
// unless their request has limits (docs/decisions/050, 069).
//
// Files:
//
//	examine.go   finds the limits of a process that can end it or its jobs
//	finding.go   Finding, and the refusal of a start
//	given.go     Given: what a process was started with, for its jobs
//	raise.go     raises the soft limits of this process
package limits
