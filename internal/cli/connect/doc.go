// Package connect connects a verb to the daemon. It dials the socket, starts the daemon if
// the verb needs it, and retries while all connections are in use. Without a daemon it
// uses the keeper of a detached job.
//
//	broken.go           errors of a connection that broke
//	busy_retry.go       retries while the daemon is busy
//	close_on_exec.go    what a daemon inherits, and its exit
//	complete.go         completion of jobs, sessions and scopes
//	daemon_command.go   Command, a verb that asks the daemon
//	daemon_start.go     starts the daemon
//	find.go             finds the daemon, or starts it if a command needs one
//	fleet.go            the keepers of detached jobs, and what runs without a daemon
//	input_writer.go     writes to the input of a job
//	job_filter.go       the flags of ps and rm that select jobs
//	lock.go             the lock of a state directory
//	neutral_start.go    starts a daemon without the priority of its first client
//	output_logs.go      outputs of jobs, from journal and keeper
//	pidfile.go          verbs for the detached job of a pid file
//	ready_pipe.go       the pipe on which a new daemon reports
//	scope.go            the scope in which a verb looks for its jobs
package connect
