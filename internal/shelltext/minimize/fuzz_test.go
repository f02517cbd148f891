package minimize_test

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"troupe/internal/shelltext/minimize"
)

// sane holds what is true of every command and output.
func sane(t *testing.T, command, output string, exit int, settings minimize.Settings) {
	t.Helper()
	text, info := minimize.Minimize(command, output, exit, settings)
	switch {
	case info.Fault != "":
		t.Fatalf("%q over %.60q: %s", command, output, info.Fault)
	case info.Changed != (text != output), info.InputBytes != len(output), info.OutputBytes != len(text), info.Label == "":
		t.Fatalf("%q over %.60q is said to be %+v", command, output, info)
	case !info.Changed:
		return
	case utf8.RuneCountInString(output) < 1000 || len(text) >= len(output):
		t.Fatalf("%q over %.60q was changed to %.60q", command, output, text)
	case exit != 0 && (strings.TrimSpace(text) == "" || text == "OK\n"):
		t.Fatalf("%q over %.60q: a failure became %.60q", command, output, text)
	}
}

func FuzzMinimize(f *testing.F) {
	for _, r := range recordings(f) {
		f.Add(r.command, r.before, r.exit)
	}
	f.Add("sudo -u x env A=1 git -C /x log", "commit 0123456789abcdef\n\n    x\n"+strings.Repeat(" y\n", 500), 0)
	f.Add("uv run python -m pytest", strings.Repeat("a.py . [ 1%]\n", 100), 1)
	f.Add("npx npx npx bunx jest@", "\n\n", -1)
	f.Fuzz(func(t *testing.T, command, output string, exit int) {
		sane(t, command, output, exit, minimize.Defaults())
		if n := len(output); n > 0 && n < 1000 { // so that the filters see it
			sane(t, command, strings.Repeat(output, 1000/n+1), exit, minimize.Defaults())
		}
	})
}

func FuzzParseFilters(f *testing.F) {
	noise := strings.Repeat("a line of noise\n", 100)
	for _, seed := range []string{
		"[filters.a]\nmatch_command = 'tool'\nmatch_subcommand = ''\nstrip_lines_matching = ['^x', 'y$']\nreplace = [{pattern = 'a', replacement = '$1'}]\nmax_lines = 3\non_empty = 'e'\nonly_on_exit = [0, 1]",
		"[filters]\na = 1", "filters = []", "[filters.a]\nonly_on_exit = 1.5", "[[filters]]", strings.Repeat("[", 5000), "a = " + strings.Repeat("[", 5000), "a = " + strings.Repeat("{a=", 5000), "\xff", "[filters.a]\nmatch_command='(?:tool)'\nstrip_lines_matching=['(?i)']",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		filters, err := minimize.ParseFilters(text)
		if err != nil {
			if err.Error() == "" {
				t.Fatal("an error without a word")
			}
			return
		}
		settings := minimize.Defaults()
		settings.Filters = filters
		sane(t, "tool", noise, 1, settings)
	})
}

// What is as long as it may be costs a moment, whatever it says: some 0.1 s alone, and the bound is
// for a busy machine.
func TestHostileOutputsAreMinimizedInTime(t *testing.T) {
	for _, command := range []string{"git log", "git push", "go test", "find .", "grep -n x", "cargo test", "cat x"} {
		for name, unit := range map[string]string{
			"one line": "a", "blank lines": "\n", "spaces": " ", "signs": "=-[|+* 1:/.\n", "bytes": "\xff\x00\n",
			"commits": "commit 0123456789abcdef\nAuthor: a\n\n", "diffs": "diff --git a/go.sum b/go.sum\n+x\n", "tests": "=== RUN   A\n--- PASS: A (0.00s)\nok  \ta\t0.1s\n", "paths": "a/b:1:x\n", "long lines": strings.Repeat("é", 3000) + "\n",
		} {
			output := strings.Repeat(unit, 4<<20/len(unit))
			if lines := strings.Count(unit, "\n"); lines > 0 {
				output = strings.Repeat(unit, min(4<<20/len(unit), 100_000/lines))
			}
			begin := time.Now()
			sane(t, command, output, 1, minimize.Defaults())
			if took := time.Since(begin); took > 20*time.Second {
				t.Errorf("%s over %s took %v", command, name, took)
			} else {
				t.Logf("%s over %s: %v", command, name, took)
			}
		}
	}
}
