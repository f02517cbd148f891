package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/cpuguy83/go-md2man/v2/md2man"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/internal/cli/flags"
)

// writeMan has the man pages written: make man does so.
var writeMan = flag.String("write-man", "", "write the man pages into this `directory`")

// manPages are the man pages, in Markdown, by path below a directory of man: a page for the program
// and for each verb, from its help, and one for each topic, from the same sections as the help.
func manPages(t *testing.T) map[string]string {
	t.Helper()
	pages := map[string]string{"man1/troupe.1": rootPage(verb(t, ""))}
	for _, cmd := range verbs(t) {
		cmd.InitDefaultHelpFlag()
		pages["man1/troupe-"+cmd.Name()+".1"] = verbPage(cmd)
	}
	for _, topic := range flags.Topics() {
		pages[fmt.Sprintf("man%d/troupe-%s.%[1]d", topic.Man, topic.Name)] = topicPage(topic)
	}
	return pages
}

// pageHead begins a page.
func pageHead(name string, section int, does string) string {
	return fmt.Sprintf("%% %q \"%d\" \"\" \"troupe\" \"troupe manual\"\n\n# NAME\n%s - %s\n", strings.ToUpper(name), section, name, literal(does))
}

// rootPage is the page of the program.
func rootPage(root *cobra.Command) string {
	var b strings.Builder
	b.WriteString(pageHead("troupe", 1, root.Short) + usage(root) + "\n# DESCRIPTION\n" + prose(root.Long))
	b.WriteString("\n# VERBS\nEach verb has a page of its own, as troupe\\-run(1).\n")
	for _, group := range root.Groups() {
		b.WriteString("\n### " + literal(group.Title) + "\n\n")
		for _, cmd := range root.Commands() {
			if cmd.GroupID == group.ID {
				b.WriteString("**" + literal(cmd.Name()) + "**\n:   " + literal(cmd.Short) + "\n\n")
			}
		}
	}
	b.WriteString(options(root) + examples(root) + "\n# SEE ALSO\n")
	for i, topic := range flags.Topics() {
		if i > 0 {
			b.WriteString(", ")
		}
		fmt.Fprintf(&b, "**%s**(%d)", literal("troupe-"+topic.Name), topic.Man)
	}
	return b.String() + "\n"
}

// verbPage is the page of a verb.
func verbPage(cmd *cobra.Command) string {
	about := cmd.Long
	if about == "" {
		about = cmd.Short + "."
	}
	text := pageHead("troupe-"+cmd.Name(), 1, cmd.Short) + usage(cmd) + "\n# DESCRIPTION\n" + prose(about) + options(cmd)
	if end := cmd.Annotations[flags.HelpEnd]; end != "" {
		title := "NOTES"
		if rest, is := strings.CutPrefix(end, "Exit status:"); is {
			title, end = "EXIT STATUS", strings.TrimPrefix(strings.TrimPrefix(rest, " "), "\n")
		}
		text += "\n# " + title + "\n" + prose(end)
	}
	return text + examples(cmd) + "\n# SEE ALSO\n**troupe**(1), **troupe\\-exit\\-status**(7)\n"
}

func usage(cmd *cobra.Command) string {
	return "\n# SYNOPSIS\n```\n" + cmd.UseLine() + "\n```\n"
}

func examples(cmd *cobra.Command) string {
	if !cmd.HasExample() {
		return ""
	}
	return "\n# EXAMPLES\n```\n" + cmd.Example + "\n```\n"
}

func options(cmd *cobra.Command) string {
	var b strings.Builder
	b.WriteString("\n# OPTIONS\n")
	for _, group := range flags.Groups(cmd.Flags()) {
		if group.Title != "Flags" {
			b.WriteString("\n### " + literal(group.Title) + "\n\n")
		}
		group.VisitAll(func(f *pflag.Flag) {
			value, does := pflag.UnquoteUsage(f)
			if f.Shorthand != "" {
				b.WriteString("**" + literal("-"+f.Shorthand) + "**, ")
			}
			b.WriteString("**" + literal("--"+f.Name) + "**")
			if value != "" {
				b.WriteString(" *" + literal(value) + "*")
			}
			if !slices.Contains([]string{"", "false", "0", "[]"}, f.DefValue) {
				does += " (default " + f.DefValue + ")"
			}
			b.WriteString("\n:   " + literal(does) + "\n\n")
		})
	}
	return b.String()
}

// topicPage is the page of a topic.
func topicPage(topic flags.Topic) string {
	var b strings.Builder
	b.WriteString(pageHead("troupe-"+topic.Name, topic.Man, topic.Short) + "\n# DESCRIPTION\n")
	last := flags.Paragraph
	for _, block := range topic.Blocks() {
		if last == flags.Item && block.Kind != flags.Item {
			b.WriteString("\n") // of the list
		}
		last = block.Kind
		switch block.Kind {
		case flags.Heading:
			b.WriteString("\n# " + strings.ToUpper(block.Text) + "\n")
		case flags.Row:
			b.WriteString(block.Term + "\n:   " + block.Text + "\n\n")
		case flags.Item:
			b.WriteString("- " + block.Text + "\n")
		case flags.Verbatim:
			b.WriteString("```\n" + block.Text + "```\n\n")
		case flags.Paragraph:
			b.WriteString(block.Text + "\n\n")
		}
	}
	return b.String() + "\n# SEE ALSO\n**troupe**(1)\n"
}

// prose is a text of the help in Markdown. Lines that begin with a blank stay as they are.
func prose(text string) string {
	var b strings.Builder
	fenced := false
	for line := range strings.SplitSeq(text, "\n") {
		if as := strings.HasPrefix(line, " "); as != fenced {
			fenced = as
			b.WriteString("```\n")
		}
		if fenced {
			b.WriteString(line + "\n")
		} else {
			b.WriteString(literal(line) + "\n")
		}
	}
	if fenced {
		b.WriteString("```\n")
	}
	return b.String()
}

// literal is a plain text in Markdown.
func literal(text string) string {
	return regexp.MustCompile("[\\\\`*_{}\\[\\]()#+.!|<>~&-]").ReplaceAllString(text, `\$0`)
}

// Each verb and each topic has a man page. No section of one is empty, and no mark of Markdown
// is left. A verb's page has all its flags.
func TestManPages(t *testing.T) {
	pages := manPages(t)
	for path, text := range pages {
		roff := string(md2man.Render([]byte(text)))
		name, _, _ := strings.Cut(filepath.Base(path), ".")
		lintPage(t, path, roff)
		if !strings.Contains(shown(roff), "\n"+name+" - ") {
			t.Errorf("%s does not name %s", path, name)
		}
		if *writeMan != "" {
			file := filepath.Join(*writeMan, path)
			if err := os.MkdirAll(filepath.Dir(file), 0o755); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(file, []byte(roff), 0o644); err != nil {
				t.Fatal(err)
			}
		}
	}
	for _, cmd := range append(verbs(t), verb(t, "")) {
		name := strings.TrimPrefix("troupe-"+cmd.Name(), "troupe-troupe")
		if name == "" {
			name = "troupe"
		}
		page := shown(string(md2man.Render([]byte(pages["man1/"+name+".1"]))))
		cmd.InitDefaultHelpFlag()
		usage, _, _ := strings.Cut(cmd.UseLine(), "\n")
		cmd.Flags().VisitAll(func(f *pflag.Flag) {
			if !strings.Contains(page, "\n--"+f.Name) && !strings.Contains(page, "\n-"+f.Shorthand+", --"+f.Name) {
				t.Errorf("%s lacks --%s", name, f.Name)
			}
		})
		if !strings.Contains(page, "\n.SH SYNOPSIS\n.EX\n"+usage) {
			t.Errorf("%s lacks its usage", name)
		}
	}
}

// lintPage reports sections without a text, lines that roff would take for requests, and marks
// of Markdown.
func lintPage(t *testing.T, path, roff string) {
	t.Helper()
	request := regexp.MustCompile(`^\.(TH|SH|SS|PP|TP|IP|RS|RE|EX|EE|nh|br)\b`)
	section, empty, code := "", false, false
	for _, line := range append(strings.Split(roff, "\n"), ".SH end") {
		title, begins := strings.CutPrefix(line, ".SH ")
		switch {
		case begins && empty:
			t.Errorf("%s: the section %s is empty", path, section)
		case strings.HasPrefix(line, ".") && !request.MatchString(line):
			t.Errorf("%s: roff does not know %q", path, line)
		case strings.HasPrefix(line, ".EX"), strings.HasPrefix(line, ".EE"):
			code = strings.HasPrefix(line, ".EX")
		case !code && regexp.MustCompile("`|\\*\\*|\\]\\(|^:  |^- ").MatchString(line):
			t.Errorf("%s: a mark is left in %q", path, line)
		}
		if begins {
			section, empty = title, true
		} else if line != "" && !strings.HasPrefix(line, ".") {
			empty = false
		}
	}
	if !strings.Contains(roff, "\n.TH ") {
		t.Errorf("%s has no title", path)
	}
}

// shown is the text of a page without its fonts and escapes.
func shown(roff string) string {
	roff = regexp.MustCompile(`\\f[BIPR]`).ReplaceAllString(roff, "")
	return strings.NewReplacer(`\-`, "-", `\&`, "", `\\`, `\`).Replace(roff)
}

// The topics of the help, their man pages and the manual say the same: each entry of a table and
// each word of its text.
func TestTopicsAreTheManual(t *testing.T) {
	pages := manPages(t)
	for _, topic := range flags.Topics() {
		help := printed(t, "help", topic.Name)
		for line := range strings.Lines(help) {
			if n := len([]rune(strings.TrimRight(line, "\n"))); n > flags.HelpWidth {
				t.Errorf("help %s has a line of %d: %s", topic.Name, n, line)
			}
		}
		page := shown(string(md2man.Render([]byte(pages[fmt.Sprintf("man%d/troupe-%s.%[1]d", topic.Man, topic.Name)]))))
		oneLine := func(text string) string { return strings.Join(strings.Fields(text), " ") }
		for _, text := range []string{help, page} {
			text = oneLine(text)
			for _, entry := range topicEntries(t, topic.Name) {
				if !strings.Contains(text, oneLine(entry)) {
					t.Errorf("%s lacks %q", topic.Name, entry)
				}
			}
		}
	}
}

// topicEntries are the cells of the tables that a topic shows, from the documents, as plain text.
func topicEntries(t *testing.T, topic string) (cells []string) {
	t.Helper()
	sections := map[string][]string{
		"exit-status": {manual(t, "Exit status")}, "keys": {manual(t, "Keys"), commandsPage(t, "Keys")},
		"config": {manual(t, "Configuration"), manual(t, "Files")}, "environment": {manual(t, "Environment"), commandsPage(t, "Environment")},
	}[topic]
	for _, section := range sections {
		lines := strings.Split(section, "\n")
		for i, line := range lines {
			head := i+1 < len(lines) && strings.HasPrefix(lines[i+1], "|---")
			if !strings.HasPrefix(line, "| ") || head || strings.Contains(line, "](") { // the text of a link comes with its page
				continue
			}
			for _, cell := range strings.Split(line, "|") {
				if cell = strings.TrimSpace(strings.ReplaceAll(cell, "`", "")); cell != "" {
					cells = append(cells, cell)
				}
			}
		}
	}
	if len(cells) < 8 {
		t.Fatalf("the tables of %s have %d cells", topic, len(cells))
	}
	return cells
}

// commandsPage is a section of docs/commands.md.
func commandsPage(t *testing.T, section string) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/commands.md")
	if err != nil {
		t.Fatal(err)
	}
	_, text, found := strings.Cut(string(b), "\n## "+section+"\n")
	if !found {
		t.Fatalf("docs/commands.md has no section %q", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}
