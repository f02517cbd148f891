package main

import (
	"fmt"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/internal/cli/run"
)

// version is set by the linker (see the Makefile); "" is a plain go build.
var version string

func main() {
	m := &cli.Main{In: os.Stdin, Out: os.Stdout, Err: os.Stderr, Env: os.Environ(), Version: version}
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
	root := newRoot(m)
	root.SetArgs(args)
	cmd, err := root.ExecuteC()
	if err == nil {
		err = m.Helped
	}
	return out.Finish(m, err, flags.ErrorsAsJSON(m, cmd, args))
}

// newRoot builds the root command with all verbs.
func newRoot(m *cli.Main) *cobra.Command {
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
	for _, g := range verbGroups(m) {
		root.AddGroup(&cobra.Group{ID: g.id, Title: g.title})
		for _, verb := range g.verbs {
			verb.GroupID = g.id
			completeFlags(m, verb)
			root.AddCommand(verb)
		}
	}
	for _, verb := range []*cobra.Command{keeperCommand(m), terminalGuardCommand(m)} { // troupe's own processes
		root.AddCommand(verb)
	}
	return root
}

// verbGroup is a part of the list of verbs.
type verbGroup struct {
	id, title string
	verbs     []*cobra.Command
}

// verbGroups returns the verbs in groups: first those that most users need.
func verbGroups(m *cli.Main) []verbGroup {
	return []verbGroup{
		{"first", "Begin with", []*cobra.Command{runCommand(m), psCommand(m), logsCommand(m), attachCommand(m), waitCommand(m), stopCommand(m)}},
		{"jobs", "Jobs", []*cobra.Command{
			showCommand(m), screenCommand(m), writeCommand(m), signalCommand(m), killCommand(m), promoteCommand(m), deadlineCommand(m), handoverCommand(m), rmCommand(m),
		}},
		{"around", "Sessions, scopes and events", []*cobra.Command{sessionsCommand(m), closeCommand(m), scopesCommand(m), eventsCommand(m)}},
		{"daemon", "Daemon and agents", []*cobra.Command{serveCommand(m), shutdownCommand(m), statsCommand(m), doctorCommand(m), mcpCommand(m)}},
		{"more", "More", []*cobra.Command{completionCommand(m), versionCommand(m)}},
	}
}
