package main

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// runFlags are the flags of run as they were typed.
type runFlags struct {
	cmd *cobra.Command

	file    string
	log     string
	cwd     string
	env     []string
	envFile []string
	shell   string

	timeout, grace, promoteAfter flags.Duration
	onExit, streams, envPolicy   flags.Enum
	maxOutput                    flags.Quota
	noStdin, interactive, pty    bool
	background, noDaemon, detach bool
	json                         bool

	session, keys                 string
	leave                         []byte // what keys are
	scope, name, description, key string
	onFinish                      []string
}

// Check refuses what cannot be done yet and what contradicts itself.
func (f *runFlags) check() *messages.Error {
	if f.cmd.Flags().Changed("detach-keys") && !f.pty {
		return messages.Invalid("detach_keys", "--detach-keys is for a command on a terminal; give --pty, too")
	}
	var err error
	if f.leave, err = terminal.ParseKeys(f.keys); err != nil {
		return out.Coded(err)
	}
	switch {
	case f.log != "" && !f.detach:
		return messages.Invalid("log", "--log is for a detached command; give --detach, or redirect the output")
	case f.detach && len(f.onFinish) > 0:
		return messages.Invalid("on_finish", "--detach and --on-finish contradict each other: a detached command needs no daemon, and only that tells of an end")
	case f.detach && f.promoteAfter.Given:
		return messages.Invalid("promote_after", "--detach and --promote-after contradict each other; give one of them")
	case f.detach && f.interactive:
		return messages.Invalid("stdin", "--detach and -i contradict each other: a detached command reads nothing")
	case f.detach && f.streams.Value == string(messages.SeparateStreams):
		return messages.Invalid("streams", "--detach and --streams separate contradict each other: a detached command has one log")
	case f.pty && f.streams.Value == string(messages.SeparateStreams):
		return messages.Invalid("streams", "--pty and --streams separate contradict each other: a terminal has one stream")
	case f.background && f.noDaemon && !f.detach:
		return messages.Invalid("background", "-b and --no-daemon contradict each other: without a daemon a job ends with troupe")
	case f.background && f.promoteAfter.Given:
		return messages.Invalid("promote_after", "-b and --promote-after contradict each other; give one of them")
	case f.session == string(messages.DefaultSession):
		return messages.Invalid("session", "the session default is that of the commands without one, which run beside one another; give another name")
	case f.session != "" && f.detach:
		return messages.Invalid("session", "--session and --detach contradict each other: a command in the shell of a session ends with that")
	case f.session != "" && f.noDaemon:
		return messages.Invalid("session", "--session and --no-daemon contradict each other: a session outlives the command")
	case f.session != "" && f.onExit.Value == string(messages.KeepChildren):
		return messages.Invalid("on_exit", "--session and --on-exit keep contradict each other: what a command leaves behind is the shell's, and ends with that")
	case len(f.onFinish) > 0 && f.noDaemon:
		return messages.Invalid("on_finish", "--on-finish and --no-daemon contradict each other: what tells of the end must outlive the command")
	case f.noStdin && f.interactive:
		return messages.Invalid("stdin", "-n and -i contradict each other; give one of them")
	case f.file == "-" && f.interactive:
		return messages.Invalid("stdin", "-f - reads the shell text from standard input, so -i has none to give; put the text in a file")
	}
	for _, name := range []string{"session", "cwd", "file", "log", "scope", "name", "shell", "key", "on-exit", "streams", "env-policy"} {
		if l := f.cmd.Flags().Lookup(name); l.Changed && l.Value.String() == "" {
			return messages.Invalid(name, "--"+name+" is empty; leave it out or give a value")
		}
	}
	return nil
}

// checkLocal refuses what a command in this process cannot have.
func (f *runFlags) checkLocal() *messages.Error {
	if messages.OnExit(f.onExit.Value) == messages.KeepChildren {
		return out.Unsupported("on_exit", "--on-exit keep needs a daemon: what a command leaves behind ends with this process", "leave it out, or start one with troupe serve")
	}
	return nil
}
