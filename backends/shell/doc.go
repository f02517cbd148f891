// Package shell runs the commands of a session one by one in a live shell: bash, zsh, dash,
// sh, fish or PowerShell. The shell keeps its directory, variables and functions from one
// command to the next. A shell that died is replaced by one with its directory and exports.
//
// The engine talks to the shell (backends.LiveShell) and makes each command a job. This
// package chooses the shell, supplies the driver script and builds each command's text.
//
//	backend.go       opens executors; its options
//	check.go         has a command that does not parse refused by the shell's name
//	command.go       gives one command to a shell, again if that has just died
//	drivers.go       the driver of each kind of shell; finds its program
//	executor.go      the executor of a session: checks, starts and closes
//	exports.go       decides whether a command may change the exports
//	keep.go          ends a command alone when it fails under set -e
//	pipes.go         reports the statuses of a last pipeline
//	script_text.go   builds the text of a command; quotes words
//	shell.go         starts, adopts and replaces the live shell
//	shell_owner.go   keeps the shells of a released executor
//	snapshot.go      waits for the snapshot that a shell sources
//	terminal.go      adapts drivers and commands to a terminal
//	ulid.go          makes ids for shells
package shell
