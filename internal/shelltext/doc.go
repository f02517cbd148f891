// Package shelltext examines and builds the text of shell commands, the environment of
// jobs, and the bytes of typed keys. It is pure: no files, no processes, no clock.
// Callers pass in what it must know of the machine. A text that cannot be parsed is
// never a reason to refuse a command.
//
//	agent_environment.go   environment of agents' commands, without secrets
//	append_key.go          encoding of key presses
//	cd.go                  splitting off a leading cd
//	check_kills.go         refusal of dangerous kills
//	check_words.go         the same for a text that cannot be parsed
//	cwd.go                 working directory of a call
//	environment.go         environment of a job by policy
//	examine.go             what the text of a shell command is made of
//	files.go               file system of a command; symbolic links
//	find_processes.go      texts that look for processes by their arguments
//	head_tail_limits.go    splitting off a trailing head or tail
//	hidden_expansion.go    expansions that hide what runs
//	inner_scripts.go       scripts within a script
//	intercept.go           commands for which the host has a better tool
//	key_sequence.go        decoding of escape sequences of keys
//	keys.go                notation of keys and modifiers
//	keytable.go            named keys and their bytes
//	line_limit.go          end of the first lines of an output
//	noninteractive.go      variables for commands without a person
//	path.go                PATH of a snapshot after another
//	parse.go               parsing of bash within bounds
//	paste.go               bytes of a pasted text
//	prefix.go              prefix of agents' commands
//	reuse_key.go           calls that may share a live shell
//	rule_input.go          a command as rules see it
//	rules.go               rules of Intercept
//	script.go              simple commands and words of a parsed text
//	shell_changes.go       statements that change their shell
//	shell_choice.go        choice of the shell
//	snapshot.go            commands that make and try a shell snapshot
//	snapshot_options.go    options and aliases of a snapshot
//	snapshot_read.go       dump of a shell; functions of a snapshot
//	state_change.go        what a text may change in its shell
//	texts.go               texts for people and models
//	wrappers.go            programs that run another command
package shelltext
