package main

import (
	"fmt"

	"github.com/spf13/cobra"

	"troupe/messages"
)

// root is the command line with its verbs.
func (m *Main) root() *cobra.Command {
	var version bool
	root := &cobra.Command{
		Use:   "troupe VERB [flags] [ARG...]",
		Short: "A supervisor of shell jobs",
		Long: `troupe runs a command, keeps every byte it prints, ends it and everything it
started when told to, and reports how it ended exactly once.`,
		Example: `  troupe run 'make test 2>&1 | tail'      one argument is shell text
  troupe run --timeout 10m go test ./...  several are a program and its words
  troupe doctor                           what this machine allows`,
		Args: noSuchVerb,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if version {
				return m.printVersion()
			}
			return m.help(cmd)
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
		m.misread = true
		return flagError(cmd, err)
	})
	root.SetHelpFunc(func(cmd *cobra.Command, _ []string) { m.helped = m.help(cmd) })
	root.SetHelpCommand(m.helpCommand(root))
	root.PersistentPreRun = func(cmd *cobra.Command, _ []string) {
		if cmd.Name() == cobra.ShellCompRequestCmd {
			plainUsages(root)
		}
	}
	root.Flags().BoolVar(&version, "version", false, "say which troupe this is")
	root.Flags().SetInterspersed(false)
	root.Flags().SortFlags = false
	root.SuggestionsMinimumDistance = 2 // SuggestionsFor has no default of its own
	verbs := []*cobra.Command{
		m.runCommand(), m.psCommand(), m.showCommand(), m.screenCommand(), m.stopCommand(), m.killCommand(), m.signalCommand(), m.promoteCommand(),
		m.deadlineCommand(), m.waitCommand(), m.logsCommand(), m.attachCommand(), m.writeCommand(), m.sessionsCommand(), m.closeCommand(), m.scopesCommand(),
		m.handoverCommand(), m.rmCommand(), m.statsCommand(), m.eventsCommand(), m.serveCommand(), m.shutdownCommand(), m.mcpCommand(), m.keeperCommand(), m.guardCommand(),
		m.completionCommand(), m.doctorCommand(), m.versionCommand(),
	}
	for _, verb := range verbs {
		m.completeFlags(verb)
	}
	root.AddCommand(verbs...)
	return root
}

// noSuchVerb refuses a first argument that is no verb.
func noSuchVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := messages.Invalid("verb", fmt.Sprintf("there is no verb %q", args[0]))
	err.Hint = "troupe --help lists them; to run a command: troupe run " + quoted(args[0])
	near := cmd.SuggestionsFor(args[0])
	if verb := elsewhere[args[0]]; verb != "" {
		near = []string{verb}
	}
	if len(near) > 0 {
		err.Hint = "did you mean troupe " + near[0] + "?"
	}
	return err
}

// elsewhere are the verbs of docker, tmux, systemctl and shells: by their letters tail is
// near wait, and top near stop.
var elsewhere = map[string]string{
	"ls": "ps", "list": "ps", "jobs": "ps", "top": "ps", "status": "show", "inspect": "show", "info": "show",
	"tail": "logs", "cat": "logs", "output": "logs", "exec": "run", "start": "run", "new": "run", "new-session": "run",
	"remove": "rm", "delete": "rm", "clear": "rm", "prune": "rm", "end": "stop", "fg": "attach", "bg": "promote", "disown": "promote", "detach": "promote",
	"send": "write", "send-keys": "write", "input": "write", "capture-pane": "screen", "list-sessions": "sessions", "kill-session": "close",
	"kill-server": "shutdown", "daemon": "serve", "start-server": "serve", "monitor": "events", "watch": "events",
}

// noArgs refuses arguments of a verb that takes none.
func noArgs(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := messages.Invalid("arguments", fmt.Sprintf("%s takes no arguments, and got %q", cmd.CommandPath(), args[0]))
	err.Hint = "see " + cmd.CommandPath() + " --help"
	return err
}
