// Package console implements troupe console: a person types messages for an agent, and commands
// whose results go with the next message. ! commands run in a session of the dialect codelia,
// commands on a terminal in one of omp. Model is the state and draws the screen; it acts by
// effects, which driver implements.
//
//	complete.go      completes the last word of a command
//	composer.go      the place to type in, and its modes
//	driver.go        runs commands and sends messages for the model
//	effects.go       what the model asks for, and the messages that answer
//	execution.go     one command and what is shown of it
//	flags.go         the flags of console; opens its sessions and runs it
//	history.go       the inputs so far
//	mode.go          what a typed text becomes
//	model.go         the state of a console
//	outbox.go        the results and messages that wait to be sent
//	pass.go          sends a message, to a command as its input
//	press.go         what keys do
//	run.go           starts commands, and takes what becomes of them
//	send.go          sends messages, and takes what becomes of them
//	sequence.go      the bytes of a key for the overlay
//	style.go         colors, and text that fits the screen
//	target.go        where messages go
//	terminal_env.go  the variables of commands on a terminal
//	texts.go         the texts of the console
//	typed.go         a command on a terminal, and what is typed at it
//	view.go          draws the screen
//	watch.go         shows the output of a command while it grows
package console
