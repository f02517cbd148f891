package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"troupe/messages"
)

// helpWidth is that of the narrowest terminal that is common.
const helpWidth = 80

// printHelp writes what a verb is for, how it is called, examples, and its flags; of
// the program itself, the verbs.
func printHelp(m *Main, cmd *cobra.Command) error {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", folded(about), strings.ReplaceAll(cmd.UseLine(), "\n", "\n  "))
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nVerbs:\n")
		listVerbs(&b, cmd.Commands())
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	fmt.Fprintf(&b, "\nFlags:\n%s", cmd.Flags().FlagUsagesWrapped(helpWidth))
	if text := cmd.Annotations[helpEnd]; text != "" {
		fmt.Fprintf(&b, "\n%s\n", folded(text))
	}
	_, err := m.Out.WriteString(b.String())
	return err
}

// listVerbs writes the verbs that are there, each with what it does.
func listVerbs(b *strings.Builder, verbs []*cobra.Command) {
	width := 0
	shown := slices.DeleteFunc(slices.Clone(verbs), func(v *cobra.Command) bool { return !v.IsAvailableCommand() && v.Name() != "help" })
	for _, verb := range shown {
		width = max(width, len(verb.Name()))
	}
	for _, verb := range shown {
		fmt.Fprintf(b, "  %-*s  %s\n", width, verb.Name(), verb.Short)
	}
}

// folded is a text whose lines fit helpWidth. Those that begin with a blank stay as they
// are.
func folded(text string) string {
	var lines []string
	at := 0 // the line that words are added to; behind the last: none
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' {
			lines = append(lines, line)
			at = len(lines)
			continue
		}
		for _, word := range strings.Fields(line) {
			switch {
			case at < len(lines) && len(lines[at])+1+len(word) <= helpWidth:
				lines[at] += " " + word
			default:
				lines = append(lines, word)
				at = len(lines) - 1
			}
		}
	}
	return strings.Join(lines, "\n")
}

// helpEnd is the annotation whose text stands last in the help of a verb.
const helpEnd = "help"

// helpCommand is the verb help: the same as the flag --help of a verb.
func helpCommand(m *Main, root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [VERB]", Short: "Say how a verb is used", Args: cobra.ArbitraryArgs,
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
				return printHelp(m, root)
			}
			if len(args) > 1 {
				return exactly(cmd, args, "VERB")
			}
			for _, verb := range root.Commands() {
				if verb.Name() == args[0] {
					return printHelp(m, verb)
				}
			}
			return noSuchVerb(root, args)
		},
	}
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
