package main

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
)

// helpWidth is that of the narrowest terminal that is common.
const helpWidth = 80

// help writes what a verb is for, how it is called, examples, and its flags; of
// the program itself, the verbs.
func (m *Main) help(cmd *cobra.Command) error {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", about, strings.ReplaceAll(cmd.UseLine(), "\n", "\n  "))
	if cmd.HasAvailableSubCommands() {
		b.WriteString("\nVerbs:\n")
		for _, verb := range cmd.Commands() {
			if verb.IsAvailableCommand() || verb.Name() == "help" {
				fmt.Fprintf(&b, "  %-*s  %s\n", cmd.NamePadding()-3, verb.Name(), verb.Short)
			}
		}
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	fmt.Fprintf(&b, "\nFlags:\n%s", cmd.Flags().FlagUsagesWrapped(helpWidth))
	if text := cmd.Annotations[helpEnd]; text != "" {
		fmt.Fprintf(&b, "\n%s\n", text)
	}
	_, err := m.Out.WriteString(b.String())
	return err
}

// helpEnd is the annotation whose text stands last in the help of a verb.
const helpEnd = "help"

// helpCommand is the verb help: the same as the flag --help of a verb.
func (m *Main) helpCommand(root *cobra.Command) *cobra.Command {
	return &cobra.Command{
		Use: "help [VERB]", Short: "Say how a verb is used", Args: cobra.ArbitraryArgs,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) == 0 {
				return m.help(root)
			}
			if len(args) > 1 {
				return noArgs(cmd, args[1:])
			}
			for _, verb := range root.Commands() {
				switch {
				case verb.Name() != args[0]:
				case verb.DisableFlagParsing: // it has no help, but a reason
					return verb.RunE(verb, nil)
				default:
					return m.help(verb)
				}
			}
			return noSuchVerb(root, args)
		},
	}
}
