package main

import (
	"github.com/spf13/cobra"

	"troupe/messages"
)

// runFlags are the flags of run as they were typed.
type runFlags struct {
	cmd *cobra.Command

	file    string
	cwd     string
	env     []string
	envFile []string
	shell   string

	timeout, grace, promoteAfter duration
	onExit                       string
	streams                      string
	maxOutput                    quota
	noStdin, interactive         bool
	json                         bool

	scope, name, description, key string
}

// later are the flags that wait for parts that are not there, and their
// sentences.
var laterFlags = []struct{ name, short, help, why string }{
	{"session", "s", "run in a persistent session", "sessions whose shell lives on from one command to the next are not there yet"},
	{"background", "b", "return the id at once", needsDaemon},
	{"detach", "", "outlive everything", needsDaemon},
	{"pty", "t", "run on a terminal", "commands on a terminal of their own are not there yet"},
	{"on-finish", "", "command or URL to tell of the end", needsDaemon},
	{"detach-keys", "", "keys that leave a terminal", "commands on a terminal of their own are not there yet"},
}

const runExamples = `  troupe run 'echo hi; exit 3'                   one argument is shell text
  troupe run ls -la /                            several are a program and its arguments
  troupe run -- 'my program'                     after -- there is no shell
  troupe run --timeout 10m --json 'go test ./...'
  seq 3 | troupe run -C /tmp -e LANG=C cat`

func (m *Main) runCommand() *cobra.Command {
	f := &runFlags{}
	cmd := &cobra.Command{
		Use:   "run [flags] 'SHELL TEXT' | PROG ARG... | -f FILE",
		Short: "Run a command to its end",
		Long: `Run a command, show what it prints, end everything it started, and exit as it did.

The flags end at the first argument. The exit status is the command's own; 128+n
when signal n ended it, 124 at its deadline, 130 after Ctrl-C, 126 or 127 when it
could not be executed, 125 when troupe failed, 2 when the flags make no sense.`,
		Example: runExamples,
		Args:    cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return m.run(f, args, cmd.ArgsLenAtDash() == 0)
		},
	}
	f.cmd = cmd
	f.define()
	return cmd
}

func (f *runFlags) define() {
	f.timeout, f.grace, f.promoteAfter = duration{name: "timeout"}, duration{name: "grace", zero: true}, duration{name: "promote-after"}
	set := f.cmd.Flags()
	set.SetInterspersed(false)
	set.SortFlags = false
	set.StringVarP(&f.file, "file", "f", "", "take the shell text from `FILE`, - for standard input")
	set.StringVarP(&f.cwd, "cwd", "C", "", "run in `DIR`")
	set.StringArrayVarP(&f.env, "env", "e", nil, "set a variable: `K[=V]`, K alone takes the caller's value")
	set.StringArrayVar(&f.envFile, "env-file", nil, "set the variables in `F`, one K[=V] a line")
	set.StringVar(&f.shell, "shell", "", "bash, zsh, sh or fish, or an absolute path (bash)")
	set.Var(&f.timeout, "timeout", "deadline of the whole job")
	set.Var(&f.grace, "grace", "from TERM to KILL (5s)")
	set.StringVar(&f.onExit, "on-exit", "", "what becomes of processes left behind: `keep|kill|adopt` (adopt: ended with troupe)")
	set.StringVar(&f.streams, "streams", "", "`merged|separate` (merged if both go to the same place)")
	set.Var(&f.maxOutput, "max-output", "keep at most N bytes; at the limit: elide, keep_head, pause or kill")
	set.BoolVarP(&f.noStdin, "no-stdin", "n", false, "give the command no input")
	set.BoolVarP(&f.interactive, "interactive", "i", false, "give it the terminal's input")
	set.BoolVar(&f.json, "json", false, "print the result as one object, and nothing else")
	set.StringVar(&f.scope, "scope", "", "the owner, a `PATH` like main/build")
	set.StringVar(&f.name, "name", "", "call the job `N`")
	set.StringVar(&f.description, "description", "", "say what it is for: `T`")
	set.StringVar(&f.key, "key", "", "do it once for `K`")
	set.Var(&f.promoteAfter, "promote-after", "foreground budget; without a daemon it has no effect")
	set.Bool("no-daemon", false, "run in this process, which is the only way so far")
	for _, l := range laterFlags {
		if l.name == "session" || l.name == "on-finish" || l.name == "detach-keys" {
			set.StringP(l.name, l.short, "", l.help)
		} else {
			set.BoolP(l.name, l.short, false, l.help)
		}
		_ = set.MarkHidden(l.name) // it exists
	}
}

// check refuses what cannot be done yet and what contradicts itself.
func (f *runFlags) check() *messages.Error {
	for _, l := range laterFlags {
		if f.cmd.Flags().Changed(l.name) {
			return unsupported(l.name, "--"+l.name+" does not work yet: "+l.why, "leave it out")
		}
	}
	switch {
	case f.noStdin && f.interactive:
		return messages.Invalid("stdin", "-n and -i contradict each other; give one of them")
	case f.file == "-" && f.interactive:
		return messages.Invalid("stdin", "-f - reads the shell text from standard input, so -i has none to give; put the text in a file")
	}
	for _, name := range []string{"cwd", "file", "scope", "name", "shell", "key", "on-exit", "streams"} {
		if l := f.cmd.Flags().Lookup(name); l.Changed && l.Value.String() == "" {
			return messages.Invalid(name, "--"+name+" is empty; leave it out or give a value")
		}
	}
	return nil
}
