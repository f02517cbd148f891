package flags

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"troupe/internal/cli"
)

// HelpWidth is the width of the narrowest common terminal, in columns.
const HelpWidth = 80

// PrintHelp prints the purpose, usage, examples and flags of a verb. For the root command it
// prints the verbs, too.
func PrintHelp(m *cli.Main, cmd *cobra.Command) error {
	cmd.InitDefaultHelpFlag()
	var b strings.Builder
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	fmt.Fprintf(&b, "%s\n\nUsage:\n  %s\n", folded(about), strings.ReplaceAll(cmd.UseLine(), "\n", "\n  "))
	if cmd.HasAvailableSubCommands() {
		listVerbs(&b, cmd)
	}
	if cmd.HasExample() {
		fmt.Fprintf(&b, "\nExamples:\n%s\n", cmd.Example)
	}
	fmt.Fprintf(&b, "\nFlags:\n%s", cmd.Flags().FlagUsagesWrapped(HelpWidth))
	if text := cmd.Annotations[HelpEnd]; text != "" {
		fmt.Fprintf(&b, "\n%s\n", folded(text))
	}
	_, err := m.Out.WriteString(b.String())
	return err
}

// listVerbs prints the visible verbs with their short descriptions, by groups.
func listVerbs(b *strings.Builder, root *cobra.Command) {
	width := 0
	shown := slices.DeleteFunc(slices.Clone(root.Commands()), func(v *cobra.Command) bool { return v.GroupID == "" })
	for _, verb := range shown {
		width = max(width, len(verb.Name()))
	}
	for _, group := range root.Groups() {
		fmt.Fprintf(b, "\n%s:\n", group.Title)
		for _, verb := range shown {
			if verb.GroupID == group.ID {
				fmt.Fprintf(b, "  %-*s  %s\n", width, verb.Name(), verb.Short)
			}
		}
	}
}

// folded wraps a text to HelpWidth. It does not change lines that begin with a blank.
func folded(text string) string {
	var lines []string
	at := 0 // index of the line to extend; len(lines): a new one
	for line := range strings.SplitSeq(text, "\n") {
		if line == "" || line[0] == ' ' {
			lines = append(lines, line)
			at = len(lines)
			continue
		}
		for _, word := range strings.Fields(line) {
			switch {
			case at < len(lines) && len(lines[at])+1+len(word) <= HelpWidth:
				lines[at] += " " + word
			default:
				lines = append(lines, word)
				at = len(lines) - 1
			}
		}
	}
	return strings.Join(lines, "\n")
}

// HelpEnd is the key of the annotation that ends the help of a verb.
const HelpEnd = "help"
