// Package backends defines the interfaces between the actors and the processes. An Engine owns
// process trees, a Backend is a kind of job, an Executor starts the jobs of one session, a
// Process is one job. Facts report what a process does; they are small, and output does not
// travel in them.
//
// Only the packages below this one touch the operating system. Only they, the gateways, bench
// and cmd start goroutines. They do not use actors.
//
// Files:
//
//	backend.go           Backend and Executor: sessions and their commands
//	binding.go           delivery of a job's facts to one owner
//	control.go           controls of a running process, and their answers
//	end_tracker.go       follows facts until a job is over
//	engine.go            Engine and Process: jobs, their specs and the inventory
//	live_shell.go        the protocol of live shells
//	not_started.go       the process of a job that never started
//	output.go            states of outputs in the form of records
//	settle_leftovers.go  settles finished jobs of a dead node
//	shell_meta.go        the metadata of a live shell
//	terminal.go          terminals as a screen needs them
package backends
