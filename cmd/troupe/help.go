package main

import (
	"cmp"
	"fmt"

	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/flags"
	"troupe/internal/cli/out"
	"troupe/internal/near"
	"troupe/messages"
)

// helpCommand returns the verb help, which prints the same as --help of a verb, and topics.
func helpCommand(m *cli.Main, root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [VERB|TOPIC]", Short: "Print the help of a verb or topic", Args: cobra.ArbitraryArgs,
		Long: "Print the help of a verb, as its flag --help does, or of a topic. Without an argument,\nlist both.",
		ValidArgsFunction: func(_ *cobra.Command, args []string, _ string) (names []string, _ cobra.ShellCompDirective) {
			if len(args) > 0 {
				return nil, cobra.ShellCompDirectiveNoFileComp
			}
			for _, verb := range root.Commands() {
				if verb.IsAvailableCommand() {
					names = append(names, cobra.CompletionWithDesc(verb.Name(), verb.Short))
				}
			}
			for _, topic := range flags.Topics() {
				names = append(names, cobra.CompletionWithDesc(topic.Name, topic.Short))
			}
			return names, cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return flags.PrintHelp(m, root)
			}
			if len(args) > 1 {
				return flags.Exactly(cmd, args, "VERB or TOPIC")
			}
			for _, verb := range root.Commands() {
				if verb.Name() == args[0] {
					return flags.PrintHelp(m, verb)
				}
			}
			if printed, err := flags.PrintTopic(m, args[0]); printed {
				return err
			}
			return noSuchVerb(root, args)
		},
	}
}

// noSuchVerb rejects a first argument that names no verb. A topic of help may be meant.
func noSuchVerb(cmd *cobra.Command, args []string) error {
	if len(args) == 0 {
		return nil
	}
	err := messages.Invalid("verb", fmt.Sprintf("unknown verb %q", args[0]))
	err.Hint = "see troupe --help; to run a command: troupe run " + out.Quoted(args[0])
	var words []string
	meant := map[string]string{} // by word: what to type
	for _, verb := range cmd.Commands() {
		if verb.IsAvailableCommand() {
			words = append(words, verb.Name())
		}
	}
	for _, topic := range flags.Topics() {
		words = append(words, topic.Name)
		meant[topic.Name] = "help " + topic.Name
	}
	if word := cmp.Or(elsewhere()[args[0]], near.Word(args[0], words)); word != "" {
		err.Hint = "did you mean troupe " + cmp.Or(meant[word], word) + "?"
	}
	return err
}

// elsewhere maps verbs of docker, tmux, systemctl and shells to those of troupe. Edit
// distance alone would suggest wait for tail.
func elsewhere() map[string]string {
	return map[string]string{
		"ls": "ps", "list": "ps", "jobs": "ps", "status": "show", "inspect": "show", "info": "show",
		"tail": "logs", "cat": "logs", "output": "logs", "exec": "run", "start": "run", "new": "run", "new-session": "run",
		"remove": "rm", "delete": "rm", "clear": "rm", "prune": "rm", "end": "stop", "fg": "attach", "bg": "promote", "disown": "promote", "detach": "promote",
		"send": "write", "send-keys": "write", "input": "write", "capture-pane": "screen", "list-sessions": "sessions", "kill-session": "close",
		"kill-server": "shutdown", "daemon": "serve", "start-server": "serve", "monitor": "events", "watch": "events",
	}
}
