// Package attach connects the terminal of the user to a job: it prints the output, forwards
// typed input, and leaves at the detach keys. The job goes on.
//
//	input.go         forwards typed input
//	modes.go         the size and modes of both terminals
//	send_window.go   bounds input that is not acknowledged
//	session.go       one attachment, from connection to end
//	watch.go         shows a job without typing
package attach
