package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
)

// sample is a module in which everything happens that a report must tell apart.
var sample = map[string]string{
	"go.mod": "module sample\n\ngo 1.26.0\n",
	"good/good_test.go": `package good
import "testing"
func TestPlain(t *testing.T) {}
func TestParts(t *testing.T) { t.Run("a", func(*testing.T) {}); t.Run("b", func(*testing.T) {}) }
func TestSkipped(t *testing.T) { t.Skip("needs zsh: install it with make deps") }
func TestFaultSmall(t *testing.T) {}
`,
	"bad/bad_test.go": `package bad
import "testing"
func TestFaultParts(t *testing.T) { t.Run("a", func(*testing.T) {}); t.Run("b", func(t *testing.T) { t.Fatal("why b") }) }
func TestOwn(t *testing.T) { t.Run("a", func(*testing.T) {}); t.Error("why own") }
`,
	"panics/panics_test.go": "package panics\nimport \"testing\"\nfunc TestPanics(t *testing.T) { panic(\"why panic\") }\n",
	"exits/exits_test.go": `package exits
import ("testing"; "os")
func TestNeverEnds(t *testing.T) { os.Exit(3) }
`,
	"outside/outside_test.go": `package outside
import ("testing"; "os")
func TestMain(m *testing.M) { m.Run(); os.Exit(1) }
func TestFine(t *testing.T) {}
`,
	"unbuilt/unbuilt_test.go": "package unbuilt\nfunc broken() int { return \"why unbuilt\" }\n",
	"untested/untested.go":    "package untested\n",
	"late/late_test.go": `package late
import ("fmt"; "testing")
func FuzzLate(f *testing.F) { fmt.Println("fuzz: elapsed: 1s, execs: 7 (7/sec)\n    context deadline exceeded"); f.Fail() }
`,
	"fuzzed/fuzzed_test.go": `package fuzzed
import "testing"
func FuzzGood(f *testing.F) { f.Fuzz(func(*testing.T, string) {}) }
func FuzzBad(f *testing.F) { f.Fuzz(func(t *testing.T, s string) { if s != "" { t.Fatal("why some") } }) }
func FuzzSkipped(f *testing.F) { f.Skip("needs zsh: install it with make deps") }
`,
}

// tools makes the sample a checkout with the scripts of this one, and returns a
// function that runs test.sh there and gives its exit status and output.
func tools(t *testing.T) func(args ...string) (int, string) {
	t.Helper()
	dir := t.TempDir()
	script, err := os.ReadFile("../test.sh")
	if err != nil {
		t.Fatal(err)
	}
	files := map[string]string{"tools/test.sh": string(script)}
	for name, text := range sample {
		files[name] = text
	}
	for name, text := range files {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o700); err != nil {
			t.Fatal(err)
		}
	}
	if out, err := exec.Command("go", "build", "-o", filepath.Join(dir, ".bin/testsum"), ".").CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return func(args ...string) (int, string) {
		cmd := exec.Command(filepath.Join(dir, "tools/test.sh"), args...)
		out, _ := cmd.CombinedOutput()
		return cmd.ProcessState.ExitCode(), string(out)
	}
}

// Each run has the status, the last line and the texts that it should. The last one
// leaves a failing input behind.
func TestRuns(t *testing.T) {
	run := tools(t)
	for _, r := range []struct {
		args     string
		status   int
		last     string
		contains []string
	}{
		{"-- ./good ./untested", 0, "4 passed, 0 failed, 1 skipped", []string{
			"building ./untested", "/2] ok   sample/good ", "s (5 tests)\n", "skipped  sample/good TestSkipped: needs zsh: install it with make deps\n",
		}},
		{"-p=2 -- ./good -- -race ./fuzzed -- -C=late .", 0, "7 passed, 0 failed, 2 skipped", nil},
		// Failed: TestFaultParts/b, TestOwn, TestPanics, TestNeverEnds, outside, unbuilt.
		{"-- ./...", 1, "10 passed, 6 failed, 2 skipped", []string{
			"--- FAIL: sample/bad TestFaultParts/b\n", "why b", "--- FAIL: sample/bad TestOwn\n", "why own", "why panic",
			"--- FAIL: sample/exits TestNeverEnds\n", "FAIL sample/outside ", "FAIL sample/unbuilt ", "why unbuilt",
		}},
		{"-- ./untested", 1, "0 passed, 0 failed, 0 skipped", nil},
		{"-- ./nowhere -- ./good", 1, "4 passed, 1 failed, 1 skipped", nil},
		{"-- & ./good -- ./fuzzed -- & ./bad", 1, "8 passed, 2 failed, 2 skipped", []string{"/3] FAIL sample/bad "}},
		{"-- & ./nowhere -- ./good", 1, "4 passed, 1 failed, 1 skipped", nil},
		{"-nonsense=3 -- ./good", 1, "0 passed, 1 failed, 0 skipped", nil},
		{"-catalogue -run=^Test(Fault|BadInput|Security) -- ./good ./bad", 1, "faults survived 2/3, bad inputs 0/0, security 0/0", nil},
		{"-- -run=^$ -fuzz=^FuzzGood$ -fuzztime=1s ./fuzzed -- -run=^$ -fuzz=^FuzzBad$ -fuzztime=1s ./fuzzed -- -fuzz=^FuzzLate$ ./late", 1, "2 passed, 1 failed, 0 skipped", []string{
			"--- FAIL: sample/fuzzed FuzzBad\n", "why some", "Failing input written to testdata/fuzz/FuzzBad/",
		}},
	} {
		status, out := run(strings.Fields(r.args)...)
		lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
		if last := lines[len(lines)-1]; status != r.status || last != r.last {
			t.Errorf("%s: status %d and %q, want %d and %q:\n%s", r.args, status, last, r.status, r.last, out)
		}
		for _, text := range r.contains {
			if !strings.Contains(out, text) {
				t.Errorf("%s: %q is missing in:\n%s", r.args, text, out)
			}
		}
	}
}
