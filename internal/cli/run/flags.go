package run

import (
	"github.com/spf13/cobra"

	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// Flags are the flags of run as they were typed.
type Flags struct {
	Cmd *cobra.Command

	File    string
	Log     string
	Cwd     string
	Env     []string
	EnvFile []string
	Shell   string

	Timeout, Grace, PromoteAfter flags.Duration
	IdleTimeout                  flags.Duration
	OnExit, Streams, EnvPolicy   flags.Enum
	MaxOutput                    flags.Quota
	NoStdin, Interactive, PTY    bool
	Background, NoDaemon, Detach bool
	JSON                         bool

	Session, Keys                 string
	leave                         []byte // Keys, parsed
	Scope, Name, Description, Key string
	Replace                       bool
	StopSignal                    string
	OnFinish                      []string

	After, Locks []string
	Queue        string
	Priority     int
}

// waits reports whether the command waits for something that only the daemon knows.
func (f *Flags) waits() bool { return len(f.After)+len(f.Locks) > 0 || f.Queue != "" }

// check refuses contradictory and empty flags, and parses --detach-keys.
func (f *Flags) check() *messages.Error {
	if f.Cmd.Flags().Changed("detach-keys") && !f.PTY {
		return messages.Invalid("detach_keys", "--detach-keys needs a command on a terminal; add --pty")
	}
	if f.PTY { // nothing else has keys to leave
		var err error
		if f.leave, err = terminal.ParseKeys(f.Keys); err != nil {
			return out.Coded(err)
		}
	}
	switch {
	case f.Log != "" && !f.Detach:
		return messages.Invalid("log", "--log needs a detached command; add --detach, or redirect the output")
	case f.Detach && len(f.OnFinish) > 0:
		return messages.Invalid("on_finish", "--detach and --on-finish contradict each other: only a daemon delivers notices, and a detached command can end without one")
	case f.Detach && f.PromoteAfter.Given:
		return messages.Invalid("promote_after", "--detach and --promote-after contradict each other; give one of them")
	case f.Detach && f.Interactive:
		return messages.Invalid("stdin", "--detach and -i contradict each other: a detached command has no input")
	case f.Detach && f.Streams.Value == string(messages.SeparateStreams):
		return messages.Invalid("streams", "--detach and --streams separate contradict each other: a detached command has one log")
	case f.PTY && f.Streams.Value == string(messages.SeparateStreams):
		return messages.Invalid("streams", "--pty and --streams separate contradict each other: a terminal has one stream")
	case f.Background && f.NoDaemon && !f.Detach:
		return messages.Invalid("background", "-b and --no-daemon contradict each other: without a daemon, a job ends with this process")
	case f.Replace && f.Name == "":
		return messages.Invalid("replace", "--replace has no name; give the name of the job to be replaced with --name")
	case f.Replace && f.NoDaemon:
		return messages.Invalid("replace", "--replace and --no-daemon contradict each other: only the daemon knows the job of that name")
	case f.Background && f.PromoteAfter.Given:
		return messages.Invalid("promote_after", "-b and --promote-after contradict each other; give one of them")
	case f.Session == string(messages.DefaultSession):
		return messages.Invalid("session", "the session default is for commands without --session, which run in parallel; use another name")
	case f.Session != "" && f.Detach:
		return messages.Invalid("session", "--session and --detach contradict each other: a command in the shell of a session ends with that shell")
	case f.Session != "" && f.NoDaemon:
		return messages.Invalid("session", "--session and --no-daemon contradict each other: a session outlives the command, in the daemon")
	case f.Session != "" && f.OnExit.Value == string(messages.KeepChildren):
		return messages.Invalid("on_exit", "--session and --on-exit keep contradict each other: processes that the command leaves belong to the shell, and end with it")
	case len(f.OnFinish) > 0 && f.NoDaemon:
		return messages.Invalid("on_finish", "--on-finish and --no-daemon contradict each other: only the daemon delivers notices")
	case f.waits() && f.NoDaemon:
		return messages.Invalid("after", "--after, --lock and --queue contradict --no-daemon: only the daemon knows other jobs")
	case f.waits() && f.Detach:
		return messages.Invalid("after", "--after, --lock and --queue contradict --detach: a detached command does not wait for the daemon")
	case f.NoStdin && f.Interactive:
		return messages.Invalid("stdin", "-n and -i contradict each other; give one of them")
	case f.File == "-" && f.Interactive:
		return messages.Invalid("stdin", "-f - and -i contradict each other: -f - reads the shell text from standard input; put the text in a file")
	}
	for _, name := range []string{"session", "cwd", "file", "log", "scope", "name", "shell", "key", "on-exit", "streams", "env-policy", "stop-signal", "queue"} {
		if l := f.Cmd.Flags().Lookup(name); l.Changed && l.Value.String() == "" {
			return messages.Invalid(name, "--"+name+" is empty; leave it out or give a value")
		}
	}
	return nil
}

// need returns how much the command needs a daemon.
func (f *Flags) need() connect.Need {
	if f.Background || f.Replace || f.Session != "" || f.PromoteAfter.Given || f.waits() || len(f.OnFinish) > 0 || messages.OnExit(f.OnExit.Value) == messages.KeepChildren {
		return connect.Required
	}
	return connect.Preferred
}

// checkLocal refuses flags that a command in this process cannot have.
func (f *Flags) checkLocal() *messages.Error {
	if messages.OnExit(f.OnExit.Value) == messages.KeepChildren {
		return out.Unsupported("on_exit", "--on-exit keep needs a daemon: without one, processes that the command leaves end with this process", "leave it out, or leave out --no-daemon")
	}
	return nil
}
