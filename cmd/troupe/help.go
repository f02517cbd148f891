package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// helpCommand returns the verb help, which prints the same as --help of a verb.
func helpCommand(m *cli.Main, root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [VERB]", Short: "Print the help of a verb", Args: cobra.ArbitraryArgs,
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			for _, verb := range root.Commands() {
				if len(args) == 0 && verb.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(verb.Name(), verb.Short))
				}
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return flags.PrintHelp(m, root)
			}
			if len(args) > 1 {
				return flags.Exactly(cmd, args, "VERB")
			}
			for _, verb := range root.Commands() {
				if verb.Name() == args[0] {
					return flags.PrintHelp(m, verb)
				}
			}
			return noSuchVerb(root, args)
		},
	}
}

// noSuchVerb rejects a first argument that names no verb.
func noSuchVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := messages.Invalid("verb", fmt.Sprintf("unknown verb %q", args[0]))
	err.Hint = "see troupe --help; to run a command: troupe run " + out.Quoted(args[0])
	var verbs []string
	for _, verb := range cmd.Commands() {
		if verb.IsAvailableCommand() {
			verbs = append(verbs, verb.Name())
		}
	}
	if near := cmp.Or(elsewhere[args[0]], flags.Near(args[0], verbs)); near != "" {
		err.Hint = "did you mean troupe " + near + "?"
	}
	return err
}

// elsewhere maps verbs of docker, tmux, systemctl and shells to those of troupe. Edit
// distance alone would suggest wait for tail and stop for top.
var elsewhere = map[string]string{
	"ls": "ps", "list": "ps", "jobs": "ps", "top": "ps", "status": "show", "inspect": "show", "info": "show",
	"tail": "logs", "cat": "logs", "output": "logs", "exec": "run", "start": "run", "new": "run", "new-session": "run",
	"remove": "rm", "delete": "rm", "clear": "rm", "prune": "rm", "end": "stop", "fg": "attach", "bg": "promote", "disown": "promote", "detach": "promote",
	"send": "write", "send-keys": "write", "input": "write", "capture-pane": "screen", "list-sessions": "sessions", "kill-session": "close",
	"kill-server": "shutdown", "daemon": "serve", "start-server": "serve", "monitor": "events", "watch": "events",
}
