package flags

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/internal/cli"
)

// HelpWidth is the width of the narrowest common terminal, in columns.
const HelpWidth = 80

// PrintHelp prints the purpose, usage, examples and flags of a verb. For the root command it
// prints the verbs and the topics, too.
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
	for _, group := range Groups(cmd.Flags()) {
		fmt.Fprintf(&b, "\n%s:\n%s", group.Title, group.FlagUsagesWrapped(HelpWidth))
	}
	if !cmd.HasParent() {
		listTopics(&b)
	}
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

// listTopics prints what troupe help explains besides verbs.
func listTopics(b *strings.Builder) {
	b.WriteString("\nTopics (troupe help TOPIC):\n")
	for _, t := range Topics() {
		fmt.Fprintf(b, "  %-12s %s\n", t.Name, t.Short)
	}
}

// groupKey is the annotation of a flag that names its group.
const groupKey = "troupe_group"

// Group puts the flags of a verb that are in no group yet under a title of its help.
func Group(set *pflag.FlagSet, title string) {
	set.VisitAll(func(f *pflag.Flag) {
		if groupOf(f) == "" {
			_ = set.SetAnnotation(f.Name, groupKey, []string{title})
		}
	})
}

// groupOf returns the title of a flag's group, "" for none.
func groupOf(f *pflag.Flag) string {
	if titles := f.Annotations[groupKey]; len(titles) > 0 {
		return titles[0]
	}
	return ""
}

// FlagGroup is the flags under one title of a help.
type FlagGroup struct {
	Title string
	*pflag.FlagSet
}

// Groups returns the flags of a verb in groups. A flag without one belongs to the group before it.
func Groups(set *pflag.FlagSet) (groups []FlagGroup) {
	title := "Flags"
	set.VisitAll(func(f *pflag.Flag) {
		title = cmp.Or(groupOf(f), title)
		if last := len(groups) - 1; last < 0 || groups[last].Title != title {
			groups = append(groups, FlagGroup{title, pflag.NewFlagSet(title, pflag.ContinueOnError)})
			groups[last+1].SortFlags = false
		}
		groups[len(groups)-1].AddFlag(f)
	})
	return groups
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
