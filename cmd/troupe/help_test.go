package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/spf13/cobra"

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
	root := newRoot(m)
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
	files := map[string]bool{"--file": true, "--env-file": true, "--log": true, "--pid-file": true, "--socket": true, "--on-finish": true, "--cursor": true}
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
		{"rm", "--outcome", "exited\nsignaled\ntimed_out\ncancelled\nfailed_to_start\nlost\n:4"},
		{"serve", "--state", ":16"},
		{"write", "--keys", ":4"},
		{"mcp", "--dialect", "core\nomp\nopencode\ncopilot\n:4"},
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
	for _, verb := range newRoot(&cli.Main{}).Commands() {
		ours[verb.Name()] = verb.IsAvailableCommand()
	}
	for other, verb := range elsewhere {
		if _, is := ours[other]; is || !ours[verb] {
			t.Errorf("%s is answered with %s", other, verb)
		}
	}
}
