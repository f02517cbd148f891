package flags

import (
	"strings"
	"unicode/utf8"

	"troupe/docs"
	"troupe/internal/cli"
)

// Topic is a page of troupe help that is not about a verb. Sections of the documents are its
// text: there is no other source.
type Topic struct {
	Name  string
	Short string
	Man   int // the section of the man pages in which it belongs
	parts []part
}

// part is a section of a page, under a heading.
type part struct{ page, title, heading string }

// Topics returns the topics of troupe help.
func Topics() []Topic {
	return []Topic{
		{"exit-status", "What the exit statuses of troupe mean", 7, []part{{docs.CLI, "Exit status", ""}}},
		{"keys", "Keys that troupe reads, and keys that troupe write sends", 7, []part{{docs.CLI, "Keys", ""}, {docs.Commands, "Keys", "Keys of troupe write"}}},
		{"config", "The settings of config.toml, and the files of troupe", 5, []part{{docs.CLI, "Configuration", ""}, {docs.CLI, "Files", "Files"}}},
		{"environment", "Variables that troupe reads, and those of its commands", 7, []part{{docs.CLI, "Environment", ""}, {docs.Commands, "Environment", "What commands get"}}},
	}
}

// Blocks returns the text of the topic.
func (t Topic) Blocks() (all []Block) {
	for _, p := range t.parts {
		if p.heading != "" {
			all = append(all, Block{Kind: Heading, Text: p.heading})
		}
		all = append(all, Section(p.page, p.title)...)
	}
	return all
}

// Text returns the topic as plain text of HelpWidth columns.
func (t Topic) Text() string {
	var b strings.Builder
	b.WriteString(wrapped(t.Short+".", "", ""))
	last := Paragraph
	for _, block := range t.Blocks() {
		if block.Kind != last || block.Kind == Paragraph {
			b.WriteString("\n")
		}
		last = block.Kind
		switch text := plain(block.Text); block.Kind {
		case Heading:
			b.WriteString(text + ":\n")
		case Item:
			b.WriteString(wrapped(text, "- ", "  "))
		case Row:
			b.WriteString(wrapped(plain(block.Term), "  ", "    "))
			b.WriteString(wrapped(text, "      ", "      "))
		case Verbatim:
			for line := range strings.Lines(block.Text) {
				b.WriteString("  " + line)
			}
		case Paragraph:
			b.WriteString(wrapped(text, "", ""))
		}
	}
	return b.String()
}

// PrintTopic prints a topic. It returns false if there is none of that name.
func PrintTopic(m *cli.Main, name string) (bool, error) {
	for _, t := range Topics() {
		if t.Name == name {
			_, err := m.Out.WriteString(t.Text())
			return true, err
		}
	}
	return false, nil
}

// wrapped folds a text to lines of HelpWidth columns. The first one begins with first, the
// others with rest.
func wrapped(text, first, rest string) string {
	var b strings.Builder
	line, empty := first, true
	for _, word := range strings.Fields(text) {
		if !empty && utf8.RuneCountInString(line)+1+utf8.RuneCountInString(word) > HelpWidth {
			b.WriteString(line + "\n")
			line, empty = rest, true
		}
		if !empty {
			line += " "
		}
		line += word
		empty = false
	}
	return b.String() + line + "\n"
}
