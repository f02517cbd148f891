// Package run runs one command and ends with its exit status. The command runs in the
// daemon, in a keeper of its own, or in a node of this process. A signal stops it.
//
//	backpressure.go    pauses the command while its reader is slow
//	daemon.go          the daemon as the place of the command
//	daemon_pauser.go   pauses a job of the daemon for a slow reader
//	daemon_reader.go   follows an output of a job of the daemon
//	detached.go        a detached command without a daemon
//	env.go             adds variables from flags and files
//	find_host.go       chooses where the command runs
//	flags.go           the flags of run
//	foreground.go      one command from the request to its result
//	host.go            the host of the command, and what it knows of the job
//	json.go            the result as one object
//	live_shell.go      chooses the shell of a new session
//	local.go           a node of this process as the place of the command
//	output_full.go     reports that the output cannot be stored
//	own_arguments.go   the program's arguments, hidden from pkill -f in them
//	progress.go        the progress line of a silent command
//	queued.go          reports that the command is queued
//	relay.go           copies the output while it grows
//	report.go          reports the end of the command
//	request.go         makes the request from flags and arguments
//	rerun.go           runs the command of a job again
//	session.go         opens the session of run -s
//	start_waits.go      what the command waits for before it starts
//	stdin_stream.go    chooses input and streams
//	terminal.go        the terminal of a command with --pty
package run
