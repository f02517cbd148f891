// Package copilot is the shell suite of Copilot CLI: bash, read_bash, write_bash,
// stop_bash and list_bash. A command is synchronous for a while, or goes on in
// the background from the start, or is detached; it runs in a live shell on a terminal,
// or, without terminals, in a process of its own.
//
// The pure files turn parameters into requests and what is known of a command into
// texts; Session remembers which shells there are, asks the host, and tells of ends.
// ToolConfig makes one Session for all parts of an agent's session that ask for it.
package copilot
