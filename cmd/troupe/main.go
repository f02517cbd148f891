package main

import (
	"fmt"
	"os"
	"slices"

	cmap "github.com/orcaman/concurrent-map"
	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/internal/cli/run"
	"troupe/internal/cli/terminal"
)

// version, and the commit with its date, are set by the linker (see the Makefile); "" is a plain
// go build.
var version, commit, date string

func main() {
	cmap.SHARD_COUNT = 1 // the actor library has 1,024 of these maps: 32 parts of each cost 65,000 allocations
	m := &cli.Main{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ(), Linked: cli.Linked{Version: version, Commit: commit, Date: date}}
	keepOwnBits(m)
	os.Exit(dispatch(m, run.OwnArguments()))
}

// keepOwnBits clears the owner bits of the umask: with them this process could not use the
// files and directories that it creates. Commands get the original umask, which m.Mask
// holds.
func keepOwnBits(m *cli.Main) {
	const own = 0o700
	was := unix.Umask(0o077)
	if was&own != 0 {
		m.Mask = fmt.Sprintf("%04o", was)
	}
	unix.Umask(was &^ own)
}

// dispatch runs the verb of the arguments and returns the exit status.
func dispatch(m *cli.Main, args []string) int {
	root := newRoot(m, args)
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	if err == nil {
		err = m.Helped
	}
	return out.Finish(m, err, flags.ErrorsAsJSON(m, cmd, args))
}

// newRoot builds the root command and the verbs that the arguments need.
func newRoot(m *cli.Main, args []string) *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "troupe VERB [flags] [ARG...]",
		Short: "A supervisor of shell jobs",
		Long: `troupe runs shell commands as supervised jobs. It stores their output, stops
everything they started, and reports exactly once how each one ended.`,
		Example: `  troupe run 'make test 2>&1 | tail'      one argument: shell text
  troupe run --timeout 10m go test ./...  several: a program and its arguments
  troupe doctor                           check this machine`,
		Args: noSuchVerb,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return printVersion(m)
			}
			return flags.PrintHelp(m, cmd)
		},
		DisableFlagsInUseLine: true,
		SilenceErrors:         true,
		SilenceUsage:          true,
		CompletionOptions:     cobra.CompletionOptions{DisableDefaultCmd: true},
	}
	root.SetIn(m.In)
	root.SetOut(m.Out)
	root.SetErr(m.Err)
	root.SetFlagErrorFunc(func(cmd *cobra.Command, err error) error {
		m.Misread = true
		return flags.FlagError(cmd, err)
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { m.Helped = flags.PrintHelp(m, cmd) })
	root.SetHelpCommand(helpCommand(m, root))
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		if cmd.Name() == cobra.ShellCompRequestCmd {
			plainUsages(root)
		}
	}
	root.Flags().BoolVar(&version, "version", false, "print the version")
	root.Flags().SetInterspersed(false)
	root.Flags().SortFlags = false
	cobra.EnableCommandSorting = false // the help lists what most users need first
	root.SetHelpCommandGroupID("more")
	addVerbs(m, root, args)
	return root
}

// addVerbs adds the verb that the arguments name. Help, completion and the hints for an unknown
// verb need all verbs.
func addVerbs(m *cli.Main, root *cobra.Command, args []string) {
	one := isVerb(args)
	for _, g := range verbGroups() {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, v := range g.verbs {
			if one && v.name != args[0] {
				continue
			}
			cmd := v.command(m)
			cmd.GroupID = g.id
			if !one { // only cobra's hidden verbs complete
				completeFlags(m, cmd)
			}
			root.AddCommand(cmd)
		}
	}
	for _, v := range ownVerbs() {
		if !one || v.name == args[0] {
			root.AddCommand(v.command(m))
		}
	}
}

// listedVerb is a verb and the function that makes its command.
type listedVerb struct {
	name    string
	command func(*cli.Main) *cobra.Command
}

// verbGroup is a part of the list of verbs.
type verbGroup struct {
	id, title string
	verbs     []listedVerb
}

// verbGroups returns the verbs in groups: first those that most users need.
func verbGroups() []verbGroup {
	return []verbGroup{
		{"first", "Begin with", []listedVerb{
			{"run", runCommand}, {"ps", psCommand}, {"logs", logsCommand}, {"attach", attachCommand}, {"wait", waitCommand}, {"stop", stopCommand},
		}},
		{"jobs", "Jobs", []listedVerb{
			{"top", topCommand},
			{"show", showCommand},
			{"rerun", rerunCommand},
			{"screen", screenCommand},
			{"write", writeCommand},
			{"signal", signalCommand},
			{"kill", killCommand},
			{"promote", promoteCommand},
			{"deadline", deadlineCommand},
			{"handover", handoverCommand},
			{"rm", rmCommand},
		}},
		{"around", "Sessions, scopes and events", []listedVerb{
			{"sessions", sessionsCommand}, {"close", closeCommand}, {"scopes", scopesCommand}, {"events", eventsCommand},
		}},
		{"daemon", "Daemon and agents", []listedVerb{
			{"serve", serveCommand}, {"shutdown", shutdownCommand}, {"stats", statsCommand}, {"doctor", doctorCommand}, {"mcp", mcpCommand}, {"rpc", rpcCommand}, {"console", consoleCommand}, {"chaos", chaosCommand},
		}},
		{"more", "More", []listedVerb{{"completion", completionCommand}, {"version", versionCommand}}},
	}
}

// ownVerbs returns the hidden verbs of processes that troupe starts itself.
func ownVerbs() []listedVerb {
	return []listedVerb{{"keeper", keeperCommand}, {terminal.GuardVerb, terminalGuardCommand}}
}

// isVerb reports whether the first argument is a verb of the lists.
func isVerb(args []string) bool {
	if len(args) == 0 {
		return false
	}
	named := func(v listedVerb) bool { return v.name == args[0] }
	return slices.ContainsFunc(verbGroups(), func(g verbGroup) bool { return slices.ContainsFunc(g.verbs, named) }) || slices.ContainsFunc(ownVerbs(), named)
}
