package main

import (
	"strings"

	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/run"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

const runUse = `run [flags] 'SHELL TEXT'
troupe run [flags] PROG ARG...
troupe run [flags] -f FILE`

const runLong = `Run a command, show what it prints, end everything it started, and exit as it
did.

One argument is text for a shell; several are a program and its arguments, which
no shell sees. The flags end at the first argument; after -- there is no shell.`

const runExamples = `  troupe run 'make 2>&1 | tee log; exit 3'   shell text
  troupe run ls -la '/my files'              a program and its arguments
  troupe run -- 'my program'                 a program, not a text
  troupe run --timeout 10m go test ./...     TERM after 10m, KILL 5s later
  troupe run --json 'make' | jq .outcome     the result as one object
  seq 3 | troupe run -C /tmp -e LANG=C cat   input, directory, environment
  troupe run -f build.sh                     the text of a file
  troupe run -s dev 'cd /src; . env/bin/activate'
  troupe run -s dev make                     in the same shell as before`

// runStatuses ends the help of run. The whole table is in docs/cli.md.
const runStatuses = `Exit status:
  the command's own, or 128+n when signal n ended it. Further:
  124   its deadline ended it             2     the flags make no sense
  130   Ctrl-C ended it (128+SIGINT)      125   troupe failed
  126   it cannot be executed             127   it was not found`

func runCommand(m *cli.Main) *cobra.Command {
	f := &run.Flags{}
	cmd := &cobra.Command{
		Use: runUse, Short: "Run a command to its end", Long: runLong, Example: runExamples,
		Annotations: map[string]string{flags.HelpEnd: runStatuses},
		Args:        cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			return run.Execute(m, f, args, cmd.ArgsLenAtDash() == 0)
		},
	}
	f.Cmd = cmd
	defineRunFlags(f)
	for name, w := range map[string]flags.Enum{"on-exit": f.OnExit, "streams": f.Streams, "env-policy": f.EnvPolicy} {
		_ = cmd.RegisterFlagCompletionFunc(name, cobra.FixedCompletions(strings.Split(w.Kind, "|"), cobra.ShellCompDirectiveNoFileComp))
	}
	_ = cmd.RegisterFlagCompletionFunc("session", func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		other := func(s messages.SessionInfo) bool { return s.Session != messages.DefaultSession }
		return connect.SessionNames(m, &f.Scope, other)(cmd, nil, typed)
	})
	return cmd
}

func defineRunFlags(f *run.Flags) {
	f.Timeout, f.Grace, f.PromoteAfter = flags.Duration{Name: "timeout"}, flags.Duration{Name: "grace", Zero: true}, flags.Duration{Name: "promote-after"}
	f.OnExit, f.Streams = flags.Enum{Kind: "keep|kill|adopt"}, flags.Enum{Kind: "merged|separate"}
	f.EnvPolicy = flags.Enum{Kind: "caller|allow|agent|clean"}
	set := f.Cmd.Flags()
	set.SetInterspersed(false)
	set.SortFlags = false
	set.StringVarP(&f.File, "file", "f", "", "take the shell text from `FILE`; - is standard input")
	set.StringVarP(&f.Session, "session", "s", "", "run in the live shell of the session `NAME`, in the daemon: it keeps its directory, variables and functions for the next command")
	set.StringVarP(&f.Cwd, "cwd", "C", "", "run in `DIR`")
	set.StringArrayVarP(&f.Env, "env", "e", nil, "set a variable: `K[=V]`; K alone has the caller's value")
	set.StringArrayVar(&f.EnvFile, "env-file", nil, "set the variables in `FILE`, one K[=V] a line")
	set.Var(&f.EnvPolicy, "env-policy", "the environment below those: all of ours, the usual names of the host, that without pagers and questions, or nothing (default caller)")
	set.StringVar(&f.Shell, "shell", "", "`NAME` of the shell for a text: bash, zsh, sh, dash, fish, or an absolute path (default bash)")
	set.BoolVarP(&f.NoStdin, "no-stdin", "n", false, "give the command no input")
	set.BoolVarP(&f.Interactive, "interactive", "i", false, "let it read the terminal; other input it gets anyway")
	set.BoolVarP(&f.PTY, "pty", "t", false, "run it on a terminal of its own, of the size of ours, and pass on each key")
	set.Var(&f.Timeout, "timeout", "end it after D: seconds, or with a unit, like 500ms, 10m or 1h30m")
	set.Var(&f.Grace, "grace", "from TERM to KILL when it is ended (default 5s)")
	set.Var(&f.OnExit, "on-exit", "what becomes of processes it leaves behind: kill ends them with it, adopt with troupe; keep is the daemon's (default adopt)")
	set.Var(&f.Streams, "streams", "one pipe in true order, or stdout and stderr apart (default merged with --json or if both go to one place, else separate)")
	set.Var(&f.MaxOutput, "max-output", "keep at most N bytes, like 64MiB; then elide the middle, keep_head, pause or kill the command (default 4GiB:elide)")
	set.BoolVar(&f.JSON, "json", false, "print the result as one object, and nothing else")
	set.StringVar(&f.Name, "name", "", "call the job `NAME`")
	set.StringVar(&f.Description, "description", "", "`TEXT` that says what it is for")
	set.StringVar(&f.Scope, "scope", "", "owner of the job, a `PATH` like main/build (default that of the job around it, or main)")
	set.StringVar(&f.Key, "key", "", "run once for each `KEY` in the daemon; in this process of no effect")
	set.BoolVarP(&f.Background, "background", "b", false, "print its id when it has started, and leave it to the daemon; with -i troupe write reaches it")
	set.BoolVar(&f.Detach, "detach", false, "print its id when it has started, and leave it to a keeper of its own, which outlives the daemon, too")
	set.StringVar(&f.Log, "log", "", "of a detached command: the log `FILE`, with a .pid file beside it (default below the state directory)")
	set.Var(&f.PromoteAfter, "promote-after", "let it go on in the background, in the daemon, after D")
	set.StringArrayVar(&f.OnFinish, "on-finish", nil, "have the daemon tell a shell `TEXT`, with the record as its input, or a URL of the end; up to four times")
	set.BoolVar(&f.NoDaemon, "no-daemon", false, "run in this process, whether there is a daemon or not")
	set.StringVar(&f.Keys, "detach-keys", terminal.DetachKeys, "with --pty, in the daemon: the `KEYS` that leave the command to the background")
}
