package main

import (
	"bytes"
	"debug/elf"
	"encoding"
	"encoding/json"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/spf13/cobra"

	"troupe/internal/cli"
	"troupe/internal/cli/config"
	"troupe/internal/cli/flags"
	"troupe/messages"
)

// manual is a section of docs/cli.md, "" for the beginning.
func manual(t *testing.T, section string) string {
	t.Helper()
	b, err := os.ReadFile("../../docs/cli.md")
	if err != nil {
		t.Fatal(err)
	}
	text := "## \n" + string(b)
	_, text, found := strings.Cut(text, "## "+section+"\n")
	if !found {
		t.Fatalf("docs/cli.md has no section %q", section)
	}
	text, _, _ = strings.Cut(text, "\n## ")
	return text
}

// code is what stands as code in the first column of a section's table rows, and
// whether the second column has anything.
func code(t *testing.T, section string) map[string]bool {
	t.Helper()
	word := regexp.MustCompile("`([^`]+)`")
	documented := map[string]bool{}
	for line := range strings.Lines(manual(t, section)) {
		cells := strings.Split(strings.ReplaceAll(line, `\|`, " "), "|")
		if len(cells) < 4 {
			continue
		}
		for _, m := range word.FindAllStringSubmatch(cells[1], -1) {
			documented[m[1]] = strings.TrimSpace(cells[2]) != ""
		}
	}
	return documented
}

// same compares what is documented with what is there.
func same(t *testing.T, what string, documented, there []string) {
	t.Helper()
	for _, name := range documented {
		if !slices.Contains(there, name) {
			t.Errorf("docs/cli.md tells of the %s %s, which is not there", what, name)
		}
	}
	for _, name := range there {
		if !slices.Contains(documented, name) {
			t.Errorf("docs/cli.md does not tell of the %s %s", what, name)
		}
	}
}

// verb finds a command of the program as it is built.
func verb(t *testing.T, name string) *cobra.Command {
	t.Helper()
	root := newRoot(&cli.Main{In: os.Stdin, Out: os.Stdout, Err: os.Stderr}, nil)
	root.InitDefaultHelpCmd()
	cmd, _, err := root.Find([]string{name})
	if err != nil || cmd == root && name != "" {
		t.Fatalf("there is no %q: %v", name, err)
	}
	cmd.InitDefaultHelpFlag()
	return cmd
}

// helpFlags are the flags that a help shows, with their values.
func helpFlags(help string) map[string]bool {
	there := map[string]bool{}
	line := regexp.MustCompile(`(?m)^ +(?:(-\w), )?(--[\w-]+) (\S+)?`)
	for _, m := range line.FindAllStringSubmatch(help, -1) {
		for _, name := range m[1:3] {
			if name != "" {
				there[name] = m[3] != ""
			}
		}
	}
	return there
}

func TestTheManualHasTheFlagsOfTheHelp(t *testing.T) {
	t.Parallel()
	documented, there := code(t, "troupe run"), helpFlags(verb(t, "run").Flags().FlagUsagesWrapped(flags.HelpWidth))
	same(t, "flag", slices.Collect(maps.Keys(documented)), slices.Collect(maps.Keys(there)))
	for name, value := range documented {
		if value != there[name] {
			t.Errorf("whether %s takes a value: docs/cli.md says %v, the help %v", name, value, there[name])
		}
	}
}

// Each flag of the verbs that ask the daemon, and of serve, stands in one table.
func TestTheManualHasTheFlagsOfTheOtherVerbs(t *testing.T) {
	t.Parallel()
	documented := map[string][]string{}
	word, at := regexp.MustCompile("`([^`]+)`"), ""
	for line := range strings.Lines(manual(t, "The daemon")) {
		cells := strings.Split(line, "|")
		if len(cells) != 6 {
			continue
		}
		if m := word.FindStringSubmatch(cells[1]); m != nil {
			at = strings.TrimPrefix(m[1], "troupe ")
		}
		for _, m := range word.FindAllStringSubmatch(cells[2], -1) {
			documented[at] = append(documented[at], m[1])
		}
	}
	for _, cmd := range verb(t, "").Commands() {
		if cmd.Hidden || slices.Contains([]string{"run", "help", "version", "doctor"}, cmd.Name()) {
			continue
		}
		there := helpFlags(verb(t, cmd.Name()).Flags().FlagUsagesWrapped(flags.HelpWidth))
		delete(there, "--json")
		delete(there, "--help")
		delete(there, "-h")
		same(t, "flag of "+cmd.Name(), documented[cmd.Name()], slices.Collect(maps.Keys(there)))
	}
}

// Each setting stands in the manual, and each in the manual is one.
func TestTheManualHasTheSettings(t *testing.T) {
	t.Parallel()
	var there []string
	var add func(prefix string, of reflect.Type)
	add = func(prefix string, of reflect.Type) {
		for i := range of.NumField() {
			name, ok := of.Field(i).Tag.Lookup("toml")
			switch kind := of.Field(i).Type; {
			case !ok:
			case kind.Kind() == reflect.Struct && !reflect.PointerTo(kind).Implements(reflect.TypeFor[encoding.TextUnmarshaler]()):
				add(prefix+name+".", kind)
			case kind.Kind() == reflect.Map:
				there = append(there, prefix+name+".NAME")
			default:
				there = append(there, prefix+name)
			}
		}
	}
	add("", reflect.TypeFor[config.Settings]())
	same(t, "setting", slices.Collect(maps.Keys(code(t, "Configuration"))), there)
}

func TestTheManualHasTheVerbs(t *testing.T) {
	t.Parallel()
	var documented, there []string
	for name := range code(t, "") {
		documented = append(documented, strings.TrimPrefix(name, "troupe "))
	}
	for _, cmd := range verb(t, "").Commands() {
		if !cmd.Hidden {
			there = append(there, cmd.Name())
		}
	}
	same(t, "verb", documented, there)
}

func TestTheManualHasTheFieldsOfTheRecord(t *testing.T) {
	t.Parallel()
	tagged, err := json.Marshal(messages.Record{ // what these jobs do not have
		Labels: messages.Labels{Tag: "t"}, StopSignal: "INT", FullScreen: true, Live: &messages.LiveState{}, End: messages.End{Pipe: []int{1, 0}},
		WaitsFor: []messages.WaitsFor{{}}, Faults: []string{"f #1"},
		Request: &messages.RequestTerms{IdleTimeout: time.Second, RerunOf: "01"},
	})
	if err != nil {
		t.Fatal(err)
	}
	ended := program(t, "run", "--json", "--timeout", "1h", "true").start()
	lives := serves(t, nil).beside("run", "-b", "--json", "--timeout", "1h", "sleep 600").start()
	record := map[string]any{}
	for _, text := range []string{ended.rest(), lives.rest(), string(tagged)} {
		if err := json.Unmarshal([]byte(text), &record); err != nil {
			t.Fatal(err)
		}
	}
	ended.ends(0)
	lives.ends(0)
	same(t, "field", slices.Collect(maps.Keys(code(t, "The record"))), slices.Collect(maps.Keys(record)))
}

// What the README shows is what happens, with the binary that it says to make.
func TestTheReadmeRuns(t *testing.T) {
	t.Parallel()
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	m := regexp.MustCompile(`(?m)^go run \./cmd/troupe run --no-daemon '([^']+)'`).FindSubmatch(readme)
	if m == nil {
		t.Fatal("the README has no first command")
	}
	bin := filepath.Join(t.TempDir(), "troupe")
	build := exec.CommandContext(t.Context(), "go", "build", "-buildvcs=false", "-ldflags", "-s -w -X main.version=v1.2.3", "-o", bin, "../../cmd/troupe")
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	static(t, bin)
	p := program(t, "run", string(m[1]))
	p.Path = bin
	p.start()
	if got := p.rest(); got != "hello from troupe\n" {
		t.Errorf("it printed %q", got)
	}
	p.ends(3)
	p = programFor(t, long).bash("go run . run --no-daemon '" + string(m[1]) + "'")
	p.Dir = "." // the README says ./cmd/troupe, from the root
	p.withGoCaches().start()
	if got := p.rest(); got != "hello from troupe\n" {
		t.Errorf("by go run it printed %q", got)
	}
	p.ends(1)
	p = program(t, "version")
	p.Path = bin
	p.start()
	if got := p.rest(); !strings.HasPrefix(got, "troupe v1.2.3 (go") {
		t.Errorf("it printed %q", got)
	}
	p.ends(0)
	for _, word := range []string{"--json", "--timeout", "run --help", "troupe doctor", "docs/cli.md"} {
		if !bytes.Contains(readme, []byte(word)) {
			t.Errorf("the README says nothing of %s", word)
		}
	}
}

// static checks that a program needs no other file to run.
func static(t *testing.T, bin string) {
	t.Helper()
	f, err := elf.Open(bin)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	for _, prog := range f.Progs {
		if prog.Type == elf.PT_INTERP {
			t.Error("the binary is not static")
		}
	}
}
