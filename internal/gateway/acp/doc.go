// Package acp is an agent of the Agent Client Protocol, version 1, without a model: a prompt
// is a shell command, which a session of the dialect omp runs. With a client that has
// terminals the command runs there; otherwise as a job, whose output the client receives.
//
//	agent.go      answers the requests of a client
//	conn.go       sends messages, and requests to the client
//	frame.go      parses a message
//	params.go     holds the parameters and results of requests
//	prompt.go     makes a command of a prompt
//	rpc_error.go  holds the errors of the protocol
//	serve.go      serves one client
//	session.go    runs one turn of a session at a time
//	terminal.go   runs a command in the client's terminal
//	turn.go       runs the command of a prompt and reports it
package acp
