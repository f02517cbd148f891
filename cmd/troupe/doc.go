// Command troupe runs shell jobs under supervision. Each file of this folder is
// named for one verb and holds its flags, its request and its printing. What
// verbs share lives in internal/cli, one folder for each theme.
//
//	attach.go          connect this terminal to a job
//	chaos.go           run a command against a daemon with faults
//	close.go           close a session
//	completion.go      print a shell completion script
//	console.go         run commands and send their results to an agent
//	deadline.go        change the deadline of a job
//	doctor.go          check kernel features, limits, shells and the daemon
//	events.go          print events as they happen
//	handover.go        move a live job to another scope
//	help.go            print the help of a verb
//	keeper.go          run as a keeper (hidden; the daemon starts it)
//	kill.go            kill jobs without grace
//	logs.go            print the output of a job
//	main.go            the program and its verbs
//	mcp.go             serve agents over MCP
//	promote.go         move a job to the background
//	ps.go              list jobs
//	rerun.go           run the command of a job again
//	rm.go              remove finished jobs and their output
//	rpc.go             the verb rpc
//	run.go             run a command
//	scopes.go          list scopes
//	screen.go          print the screen of a job
//	serve.go           run the daemon
//	sessions.go        list sessions
//	show.go            print the record of a job
//	shutdown.go        stop the daemon
//	signal.go          send a signal to a job
//	stats.go           count jobs, sessions and connections
//	stop.go            stop jobs
//	terminal_guard.go  restore the terminal after troupe is killed (hidden)
//	top.go             watch jobs on the whole screen
//	version.go         print the version
//	wait.go            wait until jobs end, print a line or open a port
//	write.go           write to the input of a job
package main
