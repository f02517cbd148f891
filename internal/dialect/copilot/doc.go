// Package copilot is the shell suite of Copilot CLI: bash, read_bash, write_bash, stop_bash and
// list_bash. A command waits for its end for a while, or starts in the background, or is
// detached. It runs in a live shell on a terminal or, without terminals, in its own process.
// Session implements the tools on a dialect.Host and sends notices of ends.
//
//	attached.go         opens, reclaims and closes attached shells
//	call_queue.go       runs the calls for a shell one by one
//	capture.go          reads the output of a command for models
//	config.go           describes the kinds of shells and their environment
//	control.go          reads from, writes to and stops shells
//	details.go          holds the details of a result, and formats texts
//	execute.go          starts commands: in the foreground, the background, or detached
//	execution.go        holds a command and its state
//	keys.go             encodes the keys and text of an input
//	list.go             lists the shells and the detached commands
//	missing_shell.go    explains why a shell is missing
//	params.go           holds and checks the parameters
//	partial_output.go   shows output while a call waits
//	schema.go           makes the JSON Schemas of the tools
//	session.go          opens and closes a session, and lists its tools
//	settings.go         holds the settings and their defaults
//	shell_views.go      renders tasks, lists and notices
//	sync.go             waits for a command in the foreground
//	texts.go            holds the texts
package copilot
