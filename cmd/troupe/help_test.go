package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"troupe/internal/cli"
	"troupe/internal/cli/flags"
)

// printed is what the program itself writes, called like this.
func printed(t *testing.T, args ...string) string {
	t.Helper()
	file := filepath.Join(t.TempDir(), "out")
	out, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	m := &cli.Main{In: os.Stdin, Out: out, Err: os.Stderr}
	root := newRoot(m, args)
	root.SetArgs(args)
	if err := root.Execute(); err != nil {
		t.Fatal(err)
	}
	b, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

// verbs are those that a help lists.
func verbs(t *testing.T) []*cobra.Command {
	t.Helper()
	var all []*cobra.Command
	for _, cmd := range verb(t, "").Commands() {
		if !cmd.Hidden {
			all = append(all, cmd)
		}
	}
	if len(all) < 20 {
		t.Fatalf("only %d verbs", len(all))
	}
	return all
}

// The help of each verb fits a narrow terminal, says what the verb is for.
func TestTheHelpFitsATerminal(t *testing.T) {
	for _, cmd := range append(verbs(t), verb(t, "")) {
		args := []string{cmd.Name(), "--help"}
		if cmd.Name() == "troupe" {
			args = args[1:]
		}
		for line := range strings.Lines(printed(t, args...)) {
			if n := utf8.RuneCountInString(strings.TrimRight(line, "\n")); n > flags.HelpWidth {
				t.Errorf("%s has a line of %d: %s", strings.Join(args, " "), n, line)
			}
		}
		if cmd.Short == "" {
			t.Errorf("%s has no short description", cmd.Name())
		}
	}
}

// The help of a verb begins with what it does, as the list of verbs says it.
func TestTheHelpBeginsWithWhatTheVerbDoes(t *testing.T) {
	for _, cmd := range verbs(t) {
		begin, _, _ := strings.Cut(printed(t, cmd.Name(), "--help"), " ")
		if does, _, _ := strings.Cut(cmd.Short, " "); begin != does {
			t.Errorf("the help of %s begins with %s, the list of verbs with %s", cmd.Name(), begin, does)
		}
	}
}

// The list of verbs begins with the six that most users need. The topics end the help.
func TestTheHelpBeginsWithSixVerbs(t *testing.T) {
	help := printed(t, "--help")
	_, list, _ := strings.Cut(help, "\nBegin with:\n")
	first, _, _ := strings.Cut(list, "\n\n")
	if got := strings.Join(firstWords(first), " "); got != "run ps logs attach wait stop" {
		t.Errorf("it begins with %s", got)
	}
	_, topics, _ := strings.Cut(help, "\nTopics (troupe help TOPIC):\n")
	if got := strings.Join(firstWords(topics), " "); got != "exit-status keys config environment" {
		t.Errorf("it ends with the topics %s", got)
	}
}

// The flags of run are in groups, each flag in one, in the order in which they are defined.
func TestTheFlagsOfRunAreInGroups(t *testing.T) {
	help := printed(t, "run", "--help")
	_, list, _ := strings.Cut(help, "\nWhat to run:\n")
	groups := map[string]string{} // by flag
	title, titles := "What to run", []string{"What to run"}
	for line := range strings.Lines(list) {
		switch name, begins := strings.CutSuffix(line, ":\n"); {
		case begins && name == "Exit status":
			list = ""
		case begins && !strings.HasPrefix(line, " "):
			title, titles = name, append(titles, name)
		}
		if list == "" {
			break
		}
		for name := range helpFlags(line) {
			groups[name] = title
		}
	}
	verb(t, "run").Flags().VisitAll(func(f *pflag.Flag) {
		if groups["--"+f.Name] == "" {
			t.Errorf("--%s is in no group", f.Name)
		}
	})
	for name, want := range map[string]string{
		"--cwd": "What to run", "-b": "Background and notices", "--on-finish": "Background and notices", "--pty": "Terminal and input",
		"--timeout": "Deadline and stop", "--json": "Output", "--name": "Name and owner", "--help": "Name and owner",
	} {
		if groups[name] != want {
			t.Errorf("%s is in the group %q of %v, want %q", name, groups[name], titles, want)
		}
	}
	for _, word := range []string{"run -b ", "run --pty ", "--on-finish '"} {
		examples, _, _ := strings.Cut(help, "\nWhat to run:\n")
		if !strings.Contains(examples, word) {
			t.Errorf("no example has %s", word)
		}
	}
}

// What the verbs do begins in one column.
func TestTheHelpListsVerbsInColumns(t *testing.T) {
	columns := map[int]string{}
	for line := range strings.Lines(verbList(t)) {
		name := strings.Fields(line)[0]
		at := len(line) - len(strings.TrimLeft(strings.TrimPrefix(line, "  "+name), " "))
		columns[at] = name
	}
	if len(columns) != 1 {
		t.Errorf("they begin in the columns of %v", columns)
	}
}

// A flag that takes one of some words is completed by them, one that takes a file by
// files, and no other by files that it does not take.
func TestFlagsAreCompleted(t *testing.T) {
	files := map[string]bool{"--file": true, "--env-file": true, "--log": true, "--pid-file": true, "--socket": true, "--on-finish": true, "--cursor": true, "--listen": true, "--send": true, "--faults": true}
	for _, cmd := range verbs(t) {
		for flag, value := range helpFlags(cmd.Flags().FlagUsagesWrapped(flags.HelpWidth)) {
			got := strings.TrimSpace(printed(t, "__complete", cmd.Name(), flag, ""))
			if byFile := strings.HasSuffix(got, ":0"); value && strings.HasPrefix(flag, "--") && byFile != files[flag] {
				t.Errorf("%s %s is completed by files: %v", cmd.Name(), flag, byFile)
			}
		}
	}
	for _, c := range []struct{ verb, flag, want string }{
		{"run", "--shell", "bash\nzsh\nsh\ndash\nfish\n:4"},
		{"run", "--on-exit", "keep\nkill\nadopt\n:4"},
		{"run", "--streams", "merged\nseparate\n:4"},
		{"run", "--env-policy", "caller\nallow\nagent\nclean\n:4"},
		{"run", "--timeout", ":4"},
		{"run", "--cwd", ":16"},
		{"run", "--file", ":0"},
		{"logs", "--stream", "merged\nstdout\nstderr\n:4"},
		{"logs", "--pid-file", ":0"},
		{"ps", "--state", "queued\nstarting\nrunning\nstopping\ndraining\nfinished\n:4"},
		{"ps", "--sort", "age\nname\nduration\noutput\n:4"},
		{"top", "--sort", "age\ncpu\nmemory\noutput\nduration\nname\n:4"},
		{"rm", "--outcome", "exited\nsignaled\ntimed_out\ncancelled\nfailed_to_start\nlost\n:4"},
		{"serve", "--state", ":16"},
		{"write", "--keys", ":4"},
		{"mcp", "--dialect", "core\nomp\nopencode\ncopilot\ncodelia\n:4"},
		{"rpc", "--dialect", "codelia\nomp\npi\n:4"},
		{"mcp", "--tools", ":4"},
	} {
		if got := strings.TrimSpace(printed(t, "__complete", c.verb, c.flag, "")); got != c.want {
			t.Errorf("%s %s: got %q, want %q", c.verb, c.flag, got, c.want)
		}
	}
}

// What is known of an argument is completed, and no file where none is meant; the texts
// of flags have no marks.
func TestArgumentsAreCompleted(t *testing.T) {
	for _, c := range []struct {
		args      []string
		has, ends string
	}{
		{[]string{"help", ""}, "run\tRun a command and exit with its status\n", ":4"},
		{[]string{"help", "exit"}, "exit-status\tWhat the exit statuses of troupe mean\n", ":4"},
		{[]string{"help", "run", ""}, "", ":4"},
		{[]string{"scopes", ""}, "", ":4"},
		{[]string{"signal", "j1", ""}, "\nTERM\n", ":4"},
		{[]string{"handover", "j1", ""}, "", ":4"},
		{[]string{"handover", "j1", "main", ""}, "", ":4"},
		{[]string{"run", "--cw"}, "--cwd\trun in DIR\n", ":4"},
	} {
		got := printed(t, append([]string{"__complete"}, c.args...)...)
		if !strings.Contains(got, c.has) || !strings.HasSuffix(strings.TrimSpace(got), c.ends) || strings.Contains(got, "`") {
			t.Errorf("%v: %q", c.args, got)
		}
	}
}

// A verb of another program, such as docker, is no verb of troupe; the error suggests an
// existing one.
func TestVerbsOfOthersAreAnsweredWithOurs(t *testing.T) {
	ours := map[string]bool{}
	for _, verb := range newRoot(&cli.Main{}, nil).Commands() {
		ours[verb.Name()] = verb.IsAvailableCommand()
	}
	for other, verb := range elsewhere() {
		if _, is := ours[other]; is || !ours[verb] {
			t.Errorf("%s is answered with %s", other, verb)
		}
	}
}
