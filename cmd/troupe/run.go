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

const runLong = `Run a command as a job, print its output, and exit with its status. The daemon
runs it, and is started if there is none; it ends when it has nothing to do.

One argument is shell text; several are a program and its arguments, run without
a shell. Flags end at the first argument; after -- no shell is used.`

const runExamples = `  troupe run 'make 2>&1 | tee log; exit 3'   shell text
  troupe run ls -la '/my files'              a program and its arguments
  troupe run -- 'my program'                 a program, not shell text
  troupe run -b --name web ./serve           in the background; see troupe logs
  troupe run -b --on-finish 'notify-send "make has ended"' make
  troupe run --pty vim notes                 on a terminal, as ssh -t
  troupe run -b --pty htop                   on one, to attach to later
  troupe run --timeout 10m go test ./...     TERM after 10m, KILL 5s later
  troupe run --json 'make' | jq .outcome     the result as one object
  seq 3 | troupe run -C /tmp -e LANG=C cat   input, directory, environment
  troupe run -f build.sh                     shell text from a file
  troupe run -b --lock build make            one at a time on this host
  troupe run --after web ./check             when the job web has succeeded
  troupe run -s dev 'cd /src; . env/bin/activate'
  troupe run -s dev make                     in the same shell as before`

// runStatuses ends the help of run. The whole table is in docs/cli.md.
const runStatuses = `Exit status:
  that of the command, or 128+n if signal n ended it. Also:
  124   the command timed out             2     invalid usage
  130   Ctrl-C ended it (128+SIGINT)      125   troupe failed
  126   it cannot be executed             127   it was not found`

func runCommand(m *cli.Main) *cobra.Command {
	f := &run.Flags{}
	cmd := &cobra.Command{
		Use: runUse, Short: "Run a command and exit with its status", Long: runLong, Example: runExamples,
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
	_ = cmd.RegisterFlagCompletionFunc("after", connect.JobIDs(m, true, 0))
	_ = cmd.RegisterFlagCompletionFunc("session", func(cmd *cobra.Command, _ []string, typed string) ([]string, cobra.ShellCompDirective) {
		other := func(s messages.SessionInfo) bool { return s.Session != messages.DefaultSession }
		return connect.SessionNames(m, &f.Scope, other)(cmd, nil, typed)
	})
	return cmd
}

func defineRunFlags(f *run.Flags) {
	f.Timeout, f.Grace, f.PromoteAfter = flags.Duration{Name: "timeout"}, flags.Duration{Name: "grace", Zero: true}, flags.Duration{Name: "promote-after"}
	f.IdleTimeout = flags.Duration{Name: "idle-timeout"}
	f.OnExit, f.Streams = flags.Enum{Kind: "keep|kill|adopt"}, flags.Enum{Kind: "merged|separate"}
	f.EnvPolicy = flags.Enum{Kind: "caller|allow|agent|clean"}
	set := f.Cmd.Flags()
	set.SetInterspersed(false)
	set.SortFlags = false
	set.StringVarP(&f.File, "file", "f", "", "read the shell text from `FILE`; - is standard input")
	set.StringVarP(&f.Session, "session", "s", "", "run in the live shell of the session `NAME`, in the daemon; directory, variables and functions stay for the next command")
	set.StringVarP(&f.Cwd, "cwd", "C", "", "run in `DIR`")
	set.StringArrayVarP(&f.Env, "env", "e", nil, "set a variable: `K[=V]`; K alone takes the caller's value")
	set.StringArrayVar(&f.EnvFile, "env-file", nil, "set the variables in `FILE`, one K[=V] per line")
	set.Var(&f.EnvPolicy, "env-policy", "base environment: that of the caller, the usual names of the host, these without pagers and prompts, or none (default caller)")
	set.StringVar(&f.Shell, "shell", "", "`NAME` of the shell for shell text: bash, zsh, sh, dash, fish, or an absolute path (default bash)")
	flags.Group(set, "What to run")
	set.BoolVarP(&f.Background, "background", "b", false, "run it in the background, in the daemon: print its id once it has started or is queued, and return; with -i, troupe write sends it input")
	set.StringArrayVar(&f.OnFinish, "on-finish", nil, "notice of the end: the daemon runs a shell `TEXT` (the record is its input) or posts to a URL; up to four times")
	set.Var(&f.PromoteAfter, "promote-after", "move it to the background of the daemon after D (default none)")
	set.BoolVar(&f.Detach, "detach", false, "run it in its own keeper process, which outlives the daemon; print its id once it has started, and return")
	set.StringVar(&f.Log, "log", "", "log `FILE` of a detached command, with a .pid file beside it (default below the state directory)")
	set.BoolVar(&f.NoDaemon, "no-daemon", false, "run in this process, without the daemon; the command inherits its limits and priority, not its ignored signals")
	flags.Group(set, "Background and notices")
	set.BoolVarP(&f.PTY, "pty", "t", false, "run it on a terminal of its own, in the size of this one, and send it each key")
	set.StringVar(&f.Keys, "detach-keys", terminal.DetachKeys, "with --pty, in the daemon: `KEYS` that move the command to the background")
	set.BoolVarP(&f.Interactive, "interactive", "i", false, "let the command read the terminal; it reads other input anyway")
	set.BoolVarP(&f.NoStdin, "no-stdin", "n", false, "give the command no input")
	flags.Group(set, "Terminal and input")
	set.BoolVar(&f.JSON, "json", false, "print only the result, as one object")
	set.Var(&f.Streams, "streams", "one pipe in output order, or stdout and stderr apart (default merged with --json or if both go to one place, else separate)")
	set.Var(&f.MaxOutput, "max-output", "store at most N bytes of each stream, like 64MiB; then elide the middle, keep_head, pause or kill the command (default 4GiB:elide)")
	flags.Group(set, "Output")
	set.Var(&f.Timeout, "timeout", "stop it after D: seconds, or with a unit, like 500ms, 10m or 1h30m (default none)")
	set.Var(&f.IdleTimeout, "idle-timeout", "stop it when it has printed nothing for D (default none)")
	set.Var(&f.Grace, "grace", "time from TERM to KILL (default 5s)")
	set.StringVar(&f.StopSignal, "stop-signal", "", "`SIGNAL` that begins a stop, like INT (default TERM)")
	set.Var(&f.OnExit, "on-exit", "leftover processes: keep them (daemon only), kill them with the command, or adopt them: they stop with troupe (default adopt)")
	flags.Group(set, "Deadline and stop")
	set.StringArrayVar(&f.After, "after", nil, "start it when `JOB[:ok|any|fail]` has ended so (default ok), in the daemon; may be repeated")
	set.StringArrayVar(&f.Locks, "lock", nil, "hold the lock `NAME[:N]` of this host while it runs, with up to N-1 other jobs (default 1); may be repeated")
	set.StringVar(&f.Queue, "queue", "", "wait for a place in the queue `NAME` of the configuration file")
	set.IntVar(&f.Priority, "priority", 0, "among those that wait for a lock or a queue, start the one with the highest `N` first")
	flags.Group(set, "What it waits for")
	set.StringVar(&f.Name, "name", "", "`NAME` of the job")
	set.BoolVar(&f.Replace, "replace", false, "with --name: stop the live job of that name first")
	set.StringVar(&f.Description, "description", "", "`TEXT` that describes the job")
	set.StringVar(&f.Scope, "scope", "", "scope `PATH` that owns the job, like main/build (default that of the surrounding job, or main)")
	set.StringVar(&f.Key, "key", "", "idempotency `KEY`: the daemon runs the command once for it; no effect without a daemon")
	flags.Group(set, "Name and owner")
}
