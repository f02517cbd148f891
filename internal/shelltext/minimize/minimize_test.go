package minimize_test

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/rogpeppe/go-internal/txtar"
	"golang.org/x/sys/unix"

	"troupe/internal/shelltext/minimize"
)

var update = flag.Bool("update", false, "write what the filters make of the outputs in testdata; read the difference")

// recorded is a file of testdata: a command with its exit, the output before, and after.
type recorded struct {
	file, command string
	exit          int
	label         string
	before, after string
}

func recordings(t testing.TB) []recorded {
	t.Helper()
	files, err := filepath.Glob("testdata/*.txtar")
	if err != nil || len(files) == 0 {
		t.Fatalf("there are no recordings: %v", err)
	}
	var all []recorded
	for _, file := range files {
		archive, err := txtar.ParseFile(file)
		if err != nil {
			t.Fatal(err)
		}
		r := recorded{file: file}
		for line := range strings.Lines(string(archive.Comment)) {
			name, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
			switch name {
			case "command":
				r.command = value
			case "exit":
				if r.exit, err = strconv.Atoi(value); err != nil {
					t.Fatal(err)
				}
			case "label":
				r.label = value
			}
		}
		for _, part := range archive.Files {
			switch part.Name {
			case "before":
				r.before = string(part.Data)
			case "after":
				r.after = string(part.Data)
			}
		}
		all = append(all, r)
	}
	return all
}

func TestR106_EveryProgramHasABeforeAndAnAfter(t *testing.T) {
	seen := map[string]bool{}
	for _, r := range recordings(t) {
		t.Run(strings.TrimSuffix(filepath.Base(r.file), ".txtar"), func(t *testing.T) {
			seen[strings.SplitN(filepath.Base(r.file), "_", 2)[0]] = true
			text, info := minimize.Minimize(r.command, r.before, r.exit, minimize.Defaults())
			if *update {
				head := fmt.Sprintf("command: %s\nexit: %d\nlabel: %s\n", r.command, r.exit, info.Label)
				archive := &txtar.Archive{Comment: []byte(head), Files: []txtar.File{{Name: "before", Data: []byte(r.before)}, {Name: "after", Data: []byte(text)}}}
				if err := os.WriteFile(r.file, txtar.Format(archive), 0o644); err != nil {
					t.Fatal(err)
				}
				return
			}
			if text != r.after || info.Label != r.label {
				t.Errorf("%s gives, with the label %s:\n%s", r.command, info.Label, text)
			}
			if !info.Changed || len(text) >= len(r.before) || info.InputBytes != len(r.before) || info.OutputBytes != len(text) || info.Fault != "" {
				t.Errorf("it is said to be %+v", info)
			}
		})
	}
	for _, program := range strings.Fields(`git yadm gt gh bun npm pnpm yarn npx cargo rustfmt go golangci-lint cmake ctest ninja gtest dotnet
		mvn gradle docker kubectl helm pytest ruff mypy python rspec rake rails rubocop tsc eslint biome jest vitest playwright pip uv
		poetry bundle brew composer aws curl wget psql ls tree find grep rg wc cat stat du df jq xxd od strings`) {
		if !seen[program] {
			t.Errorf("%s has no recording", program)
		}
	}
}

// long is an output of a known program that is long enough.
func long() string {
	return strings.Repeat("go: downloading example.org/some/module v1.2.3\n", 30) + "done\n"
}

func TestR101_TheTextIsReplacedAndTheCountersAreRaw(t *testing.T) {
	raw := long()
	text, info := minimize.Minimize("go build ./...", raw, 0, minimize.Defaults())
	if text != "done\n" || info.InputBytes != len(raw) || info.OutputBytes != 5 || !info.Changed {
		t.Errorf("it became %q, %+v", text, info)
	}
}

func TestR102_WhoeverSavesTheRawTextIsToldWhatHappened(t *testing.T) {
	_, info := minimize.Minimize("go build ./...", long(), 0, minimize.Defaults())
	if want := (minimize.Info{Label: "pipeline", Changed: true, InputBytes: len(long()), OutputBytes: 5}); info != want {
		t.Errorf("told %+v, want %+v", info, want)
	}
}

func TestR103_Settings(t *testing.T) {
	if d := minimize.Defaults(); !d.Enabled || d.MaxCaptureBytes != 4<<20 || d.Only != nil || d.Except != nil {
		t.Errorf("the defaults are %+v", d)
	}
	with := func(change func(*minimize.Settings)) minimize.Settings {
		s := minimize.Defaults()
		change(&s)
		return s
	}
	for name, c := range map[string]struct {
		settings minimize.Settings
		label    string
	}{
		"nothing":            {minimize.Settings{}, "disabled"},
		"off":                {with(func(s *minimize.Settings) { s.Enabled = false }), "disabled"},
		"only others":        {with(func(s *minimize.Settings) { s.Only = []string{"npm"} }), "disabled"},
		"only this":          {with(func(s *minimize.Settings) { s.Only = []string{"npm", "Go"} }), "pipeline"},
		"except this":        {with(func(s *minimize.Settings) { s.Except = []string{"GO"} }), "disabled"},
		"except of only":     {with(func(s *minimize.Settings) { s.Only, s.Except = []string{"go"}, []string{"go"} }), "disabled"},
		"except others":      {with(func(s *minimize.Settings) { s.Except = []string{"npm"} }), "pipeline"},
		"a low bound":        {with(func(s *minimize.Settings) { s.MaxCaptureBytes = len(long()) - 1 }), "too-large"},
		"a bound just right": {with(func(s *minimize.Settings) { s.MaxCaptureBytes = len(long()) }), "pipeline"},
		"no bound given":     {with(func(s *minimize.Settings) { s.MaxCaptureBytes = 0 }), "pipeline"},
	} {
		text, info := minimize.Minimize("go build", long(), 0, c.settings)
		if info.Label != c.label || info.Changed != (c.label == "pipeline") || !info.Changed && text != long() {
			t.Errorf("%s: %+v, want %s", name, info, c.label)
		}
	}
	huge := strings.Repeat(long(), 4<<20/len(long())+1)
	if text, info := minimize.Minimize("go build", huge, 0, minimize.Defaults()); info.Label != "too-large" || text != huge {
		t.Errorf("%d bytes have the label %s", len(huge), info.Label)
	}
	for lines, label := range map[int]string{100_000: "pipeline", 100_001: "too-large"} {
		if _, info := minimize.Minimize("go build", strings.Repeat("go: downloading x\n", lines), 0, minimize.Defaults()); info.Label != label {
			t.Errorf("%d lines have the label %s, want %s", lines, info.Label, label)
		}
	}
}

func TestR104_OneSimpleCommandAndNoOther(t *testing.T) {
	for command, label := range map[string]string{
		"go build":                       "pipeline",
		"go build > log 2>&1":            "pipeline",
		"time go build":                  "pipeline",
		"# why\ngo build # so":           "pipeline",
		"go build <<< x":                 "pipeline",
		"go build $(ls)":                 "pipeline",
		"go build | cat":                 "piped",
		"go build |& cat":                "piped",
		"time go build | cat":            "piped",
		"go build && go vet":             "compound",
		"go build; go vet":               "compound",
		"go build\ngo vet":               "compound",
		"go build || true":               "compound",
		"go build &":                     "compound",
		"! go build":                     "compound",
		"(go build)":                     "compound",
		"{ go build; }":                  "compound",
		"for i in a; do go build; done":  "compound",
		"if true; then go build; fi":     "compound",
		"while go build; do break; done": "compound",
		"go build <<E\nE":                "compound",
		"go build > >(tee log)":          "compound",
		"f() { go build; }":              "compound",
		"go build 'x":                    "parse-error",
		"go build (":                     "parse-error",
		"":                               "unknown",
		"A=1":                            "unknown",
		"$GO build":                      "unknown",
		"make":                           "unsupported",
	} {
		text, info := minimize.Minimize(command, long(), 0, minimize.Defaults())
		if info.Label != label || info.Changed != (label == "pipeline") || !info.Changed && text != long() {
			t.Errorf("%q: %+v, want %s", command, info, label)
		}
	}
}

func TestR104_ShortOutputsAreNeverTouched(t *testing.T) {
	line := "go: downloading é v1\n"
	short := strings.Repeat(line, 47) + strings.Repeat("é", 13-1) // 999 characters
	if n := len([]rune(short)); n != 999 {
		t.Fatalf("this has %d characters", n)
	}
	if text, info := minimize.Minimize("go build", short, 0, minimize.Defaults()); info.Label != "too-short" || text != short {
		t.Errorf("999 characters are %s", info.Label)
	}
	if _, info := minimize.Minimize("go build", short+"é", 0, minimize.Defaults()); info.Label != "pipeline" {
		t.Errorf("1000 characters are %s", info.Label)
	}
}

func TestR104_OnlyASuccessBecomesOK(t *testing.T) {
	noise := strings.Repeat("Requirement already satisfied: six in /usr/lib/python3\n", 40)
	for exit, want := range map[int]string{0: "OK\n", 1: noise, 137: noise, -1: noise} {
		if text, _ := minimize.Minimize("pip install six", noise, exit, minimize.Defaults()); text != want {
			t.Errorf("with the exit %d nothing is left as %.40q", exit, text)
		}
	}
	said := strings.Repeat("[1/2] Building CXX object a.o\n", 40)
	for exit, want := range map[int]string{0: "ninja: built\n", 1: said} {
		if text, _ := minimize.Minimize("ninja", said, exit, minimize.Defaults()); text != want {
			t.Errorf("with the exit %d ninja says %.40q", exit, text)
		}
	}
	blank := strings.Repeat("\n", 2000)
	if text, info := minimize.Minimize("cat x", blank, 1, minimize.Defaults()); text != blank || info.Changed {
		t.Errorf("blank lines become %.60q", text)
	}
	// No failure of a recorded output is empty, or an OK.
	for _, r := range recordings(t) {
		if text, _ := minimize.Minimize(r.command, r.before, 1, minimize.Defaults()); strings.TrimSpace(text) == "" || text == "OK\n" {
			t.Errorf("%s, failed, becomes %q", r.command, text)
		}
	}
}

func TestR105_TheProgramBehindOthers(t *testing.T) {
	for _, c := range [][3]string{
		{"git status", "git", "status"},
		{"/usr/bin/GIT status", "git", "status"},
		{"git -C repo -c a=b --no-pager --git-dir=x Status", "git", "status"},
		{`"git" 'log'`, "git", "log"},
		{"A=1 B='x y' git status", "git", "status"},
		{"env git status", "git", "status"},
		{"env -i -u X A=1 git status", "git", "status"},
		{"env -uX --chdir=/tmp git status", "git", "status"},
		{"env -S 'git status'", "", ""},
		{"sudo -u ada -E git status", "git", "status"},
		{"sudo --user=ada A=1 git status", "git", "status"},
		{"sudo -uada git status", "git", "status"},
		{"sudo -- git status", "git", "status"},
		{"sudo --strange git status", "", ""},
		{"command git status", "git", "status"},
		{"command -p git status", "git", "status"},
		{"command -v git", "", ""},
		{"builtin noglob exec git status", "git", "status"},
		{"exec -a name git status", "git", "status"},
		{"time -p git status", "git", "status"},
		{"/usr/bin/time -f %e -o out git status", "git", "status"},
		{"sudo env A=1 command time git status", "git", "status"},
		{"sudo", "", ""},
		{"$X git status", "", ""},
		{"git $X", "git", ""},
		{`git -C "$DIR" status`, "git", "status"},
		{"git -- status", "git", "status"},
		{"git", "git", ""},
		{"cargo +nightly --color never test", "cargo", "test"},
		{"docker --context prod -H tcp://x ps", "docker", "ps"},
		{"npm --prefix web -w a run build", "npm", "run"},
		{"go -C tools test ./...", "go", "test"},
		{"kubectl -n prod get pods", "kubectl", "get"},
		{"yadm -C x log", "yadm", "log"},
		{"aws --profile ci s3 cp", "aws", "s3"},
		{"python -W error -m pytest", "python", "pytest"},
		{"python -c 'x' y", "python", ""},
		{"./gradlew -p app build", "gradlew", "build"},
	} {
		program, subcommand := minimize.Program(c[0])
		if program != c[1] || subcommand != c[2] {
			t.Errorf("%s runs %q %q, want %q %q", c[0], program, subcommand, c[1], c[2])
		}
	}
}

func TestR106_UsersPipelines(t *testing.T) {
	parse := func(text string) minimize.Settings {
		t.Helper()
		filters, err := minimize.ParseFilters(text)
		if err != nil {
			t.Fatal(err)
		}
		s := minimize.Defaults()
		s.Filters = filters
		return s
	}
	noise := strings.Repeat("noise of the tool\n", 100)
	many := func(n int) string {
		var out strings.Builder
		for i := range n {
			fmt.Fprintf(&out, "line %d of what it says\n", i)
		}
		return out.String()
	}
	diff := "diff --git a/x b/x\nindex 1234567..1234568 100644\n" + strings.Repeat("+a line\n", 200)
	for name, c := range map[string]struct {
		filters, command, output string
		exit                     int
		want, label              string
	}{
		"strip":            {"match_command = 'tool'\nstrip_lines_matching = ['^noise']", "tool x", noise + "end\n", 0, "end\n", "pipeline"},
		"whole names":      {"match_command = 'too'", "tool x", noise, 0, noise, "unsupported"},
		"subcommand":       {"match_command = 'tool'\nmatch_subcommand = 'a|b'\nstrip_lines_matching = ['noise']", "tool b", noise + "end", 0, "end", "pipeline"},
		"other subcommand": {"match_command = 'tool'\nmatch_subcommand = 'a|b'", "tool abc", noise, 0, noise, "unsupported"},
		"replace":          {"match_command = 'tool'\nreplace = [{pattern = '(no)ise', replacement = '$1'}, {pattern = ' of the', replacement = ''}]", "tool", noise, 0, strings.Repeat("no tool\n", 100), "pipeline"},
		"max_lines":        {"match_command = 'tool'\nmax_lines = 5", "tool", many(100), 1, "line 0 of what it says\nline 1 of what it says\n[95 lines left out]\nline 97 of what it says\nline 98 of what it says\nline 99 of what it says\n", "pipeline"},
		"on_empty":         {"match_command = 'tool'\nstrip_lines_matching = ['noise']\non_empty = 'tool: fine'", "tool", noise, 0, "tool: fine\n", "pipeline"},
		"empty failure":    {"match_command = 'tool'\nstrip_lines_matching = ['noise']\non_empty = 'tool: fine'", "tool", noise, 2, noise, "pipeline-noop"},
		"empty success":    {"match_command = 'tool'\nstrip_lines_matching = ['noise']", "tool", noise, 0, "OK\n", "pipeline"},
		"its exit":         {"match_command = 'tool'\nonly_on_exit = [3, 0]\nstrip_lines_matching = ['^noise']", "tool", noise + "x", 3, "x", "pipeline"},
		"another exit":     {"match_command = 'tool'\nonly_on_exit = 0\nstrip_lines_matching = ['^noise']", "tool", noise + "x", 1, noise + "x", "exit-skip"},
		"nothing to do":    {"match_command = 'tool'\nstrip_lines_matching = ['^other']", "tool", noise, 0, noise, "pipeline-noop"},
		"too short":        {"match_command = 'tool'\nstrip_lines_matching = ['x']", "tool", "x", 0, "x", "too-short"},
		"over a built-in":  {"match_command = 'git'\nreplace = [{pattern = 'a line', replacement = 'it'}]", "git diff", diff, 0, "diff --git a/x b/x\n" + strings.Repeat("+it\n", 200), "pipeline+builtin"},
		"beside its own":   {"match_command = 'git'\nonly_on_exit = 9", "git diff", diff, 0, strings.Replace(diff, "index 1234567..1234568 100644\n", "", 1), "git"},
		"before ours":      {"match_command = 'ninja'\nreplace = [{pattern = 'noise of', replacement = ''}]", "ninja", noise, 0, strings.Repeat(" the tool\n", 100), "pipeline"},
		"windows lines":    {"match_command = 'tool'\nstrip_lines_matching = ['tool$']", "tool", strings.ReplaceAll(noise, "\n", "\r\n") + "x", 0, "x", "pipeline"},
	} {
		text, info := minimize.Minimize(c.command, c.output, c.exit, parse("[filters.a]\n"+c.filters))
		if text != c.want || info.Label != c.label {
			t.Errorf("%s: %s, %.300q\nwant %s, %.300q", name, info.Label, text, c.label, c.want)
		}
	}
	// The more special one is first, then the order of names.
	two := parse("[filters.a]\nmatch_command='tool'\non_empty='a'\nstrip_lines_matching=['n']\n[filters.b]\nmatch_command='tool'\non_empty='b'\nstrip_lines_matching=['n']\n" +
		"[filters.z]\nmatch_command='tool'\nmatch_subcommand='z'\non_empty='z'\nstrip_lines_matching=['n']")
	for command, want := range map[string]string{"tool": "a\n", "tool z": "z\n"} {
		if text, _ := minimize.Minimize(command, noise, 0, two); text != want {
			t.Errorf("of several filters %s took %q, want %q", command, text, want)
		}
	}
}

// threadTime is what this thread has had of its processor: other work on the machine does not
// count.
func threadTime(t *testing.T) time.Duration {
	t.Helper()
	var at unix.Timespec
	if err := unix.ClockGettime(unix.CLOCK_THREAD_CPUTIME_ID, &at); err != nil {
		t.Fatal(err)
	}
	return time.Duration(at.Nano())
}

// A filter costs what it looks at, and not the square of it: each of these took seconds once, or
// the memory there is.
func TestR106_NoOutputKeepsAFilterLong(t *testing.T) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	filters := func(text string) minimize.Settings {
		s := minimize.Defaults()
		var err error
		if s.Filters, err = minimize.ParseFilters("[filters.a]\nmatch_command = 'tool'\n" + text); err != nil {
			t.Fatal(err)
		}
		return s
	}
	var numbered strings.Builder
	for i := 0; numbered.Len() < 4<<20-2000; i++ {
		fmt.Fprintf(&numbered, "%d%s\n", i, strings.Repeat("a", 1980))
	}
	doubled := strings.Repeat("[[filters.a.replace]]\npattern = '(.+)'\nreplacement = '$1$1'\n", 40)
	for name, c := range map[string]struct {
		command, output string
		settings        minimize.Settings
		label           string
	}{
		"packages":     {"go test ./...", strings.Repeat("x\n", 50_000) + strings.Repeat("ok  \tp\t0.1s\n", 49_000), minimize.Defaults(), "go"},
		"authors":      {"git show HEAD:x", "commit 0123456789abcdef\n" + strings.Repeat("Author: somebody somewhere\n", 90_000), minimize.Defaults(), "git"},
		"runners":      {strings.Repeat("npx uvx ", 8000) + "x", numbered.String(), minimize.Defaults(), "unsupported"},
		"a pattern":    {"tool", numbered.String(), filters("strip_lines_matching = ['(.*a){900}b$']"), "pipeline-noop"},
		"replacements": {"tool", strings.Repeat("x", 1500) + "\n", filters(doubled), "pipeline-noop"},
		"longer lines": {"tool", numbered.String(), filters("replace = [{pattern = '$', replacement = '" + strings.Repeat("x", 1000) + "'}]\nmax_lines = 1"), "pipeline"},
	} {
		begin := threadTime(t)
		_, info := minimize.Minimize(c.command, c.output, 0, c.settings)
		if took := threadTime(t) - begin; took > 2*time.Second { // some tenths of one
			t.Errorf("%s took %v", name, took)
		}
		if info.Label != c.label || info.Fault != "" {
			t.Errorf("%s: %+v, want %s", name, info, c.label)
		}
	}
}

func TestR106_ATextThatGrowsIsGivenBack(t *testing.T) {
	filters, err := minimize.ParseFilters("[filters.a]\nmatch_command = 'tool'\nmax_lines = 1\nreplace = [{pattern = '$', replacement = '" + strings.Repeat("x", 900) + "'}]\n")
	if err != nil {
		t.Fatal(err)
	}
	settings := minimize.Defaults()
	settings.Filters = filters
	output := strings.Repeat("a line\n", 1000)
	if text, info := minimize.Minimize("tool", output, 0, settings); text != output || info.Label != minimize.Noop {
		t.Errorf("%s, %.80q", info.Label, text)
	}
}

func TestR106_AFileOfFiltersIsReadStrictly(t *testing.T) {
	for text, want := range map[string]string{
		"[filters.a]\nmatch_command = 'x'\nmax_line = 3\n":                                                    "3:1: unknown key filters.a.max_line",
		"[filter.a]\nmatch_command = 'x'\n":                                                                   "1:2: unknown key filter.a",
		"[filters.a]\nmatch_command = 'x'\nreplace = [{from = 'a'}]\n":                                        "3:13: unknown key filters.a.from",
		"[filters.a]\nmax_lines = 3\n":                                                                        "filter a has no match_command",
		"[filters.a]\nmatch_command = 'x'\nmax_lines = -1\n":                                                  "filter a: max_lines is negative",
		"[filters.a]\nmatch_command = 'x('\n":                                                                 "filter a: invalid regular expression x(: error parsing regexp: missing closing ): `x(`",
		"[filters.a]\nmatch_command = 'x'\nstrip_lines_matching = ['(?=x)']\n":                                "filter a: invalid regular expression (?=x): error parsing regexp: invalid or unsupported Perl syntax: `(?=`",
		"[filters.a]\nmatch_command = '\\Qx'\n":                                                               "filter a: invalid regular expression \\Qx: error parsing regexp: missing closing ): `^(?:\\Qx)$`",
		"[filters.a]\nmatch_command = 'x'\nreplace = [{replacement = '" + strings.Repeat("y", 1001) + "'}]\n": "filter a: a replacement is over 1000 bytes long",
		"[filters.a]\nmatch_command = 'x'\nonly_on_exit = 'ok'\n":                                             "filter a: only_on_exit is an exit status or a list of them",
		"[filters.a]\nmatch_command = 'x'\nonly_on_exit = ['ok']\n":                                           "filter a: only_on_exit is an exit status or a list of them",
		"# " + strings.Repeat("x", 64<<10):                                                                    "the filters are over 65536 bytes long",
	} {
		_, err := minimize.ParseFilters(text)
		if err == nil || err.Error() != want {
			t.Errorf("%.80q gives %v, want %s", text, err, want)
		}
	}
	for text, line := range map[string]int{"\n\n[filters.a\n": 3, "[filters.a]\nmatch_command = 3\n": 2, "a = \n": 1} {
		_, err := minimize.ParseFilters(text)
		var placed *minimize.FilterError
		if !errors.As(err, &placed) || placed.Line != line {
			t.Errorf("%q gives %v, want line %d", text, err, line)
		}
	}
	if _, err := minimize.ParseFilters(""); err != nil {
		t.Error(err)
	}
}

// Columns that are others than they look like stay as they are.
func TestWhatOnlyLooksLikeItIsLeft(t *testing.T) {
	var hours, sizes strings.Builder
	for i := range 40 {
		fmt.Fprintf(&hours, "logs/app.log:10:00:%02d ERROR it failed\n", i)
		fmt.Fprintf(&sizes, "-rw-r--r-- 1 ada   %d Nov  3 10:00 file%d.go\n", 1000+i, i)
	}
	for command, raw := range map[string]string{
		"grep -r ERROR logs": hours.String(), "rg ERROR logs": hours.String(),
		"ls -lo": sizes.String(), "ls -lg": sizes.String(), "ls -lG": sizes.String(), "ls -l --no-group": sizes.String(),
	} {
		if text, _ := minimize.Minimize(command, raw, 0, minimize.Defaults()); text != raw {
			t.Errorf("%s gives\n%s", command, text)
		}
	}
}
