package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// sample is a module in which everything happens that a tally must tell apart.
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
	"late/late_test.go":       lateTest,
	"fuzzed/fuzzed_test.go": `package fuzzed
import "testing"
func TestNot(t *testing.T) { t.Error("a test ran") }
func FuzzGood(f *testing.F) { f.Fuzz(func(*testing.T, string) {}) }
func FuzzBad(f *testing.F) { f.Fuzz(func(t *testing.T, s string) { if s != "" { t.Fatal("why some") } }) }
func FuzzSkipped(f *testing.F) { f.Skip("needs zsh: install it with make deps") }
`,
}

// lateTest is a package that does what go test does when a target's time is up in the wrong moment.
const lateTest = `package late
import ("fmt"; "testing")
func FuzzLate(f *testing.F) { f.Fuzz(func(*testing.T, string) {}); fmt.Println("    context deadline exceeded"); f.Fail() }
`

// run runs the packages of the sample and gives the exit status and output.
func run(t *testing.T, r runner, patterns ...string) (int, string) {
	t.Helper()
	dir := t.TempDir()
	for name, text := range sample {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	t.Chdir(dir)
	var out bytes.Buffer
	r.out, r.count, r.timeout = &out, 1, packageTimeout
	status := r.main(patterns)
	return status, out.String()
}

// lastLine is what scripts read.
func lastLine(t *testing.T, out string) string {
	t.Helper()
	if !strings.HasSuffix(out, "\n") {
		t.Fatalf("output does not end with a newline: %q", out)
	}
	lines := strings.Split(strings.TrimSuffix(out, "\n"), "\n")
	return lines[len(lines)-1]
}

func expect(t *testing.T, out string, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(out, w) {
			t.Errorf("%q is missing in:\n%s", w, out)
		}
	}
}

func TestGoodPackagesPass(t *testing.T) {
	status, out := run(t, runner{}, "./good", "./untested")
	if got, want := lastLine(t, out), "4 passed, 0 failed, 1 skipped"; got != want || status != 0 {
		t.Errorf("got %q and status %d, want %q and 0:\n%s", got, status, want, out)
	}
	expect(t, out, "skipped  sample/good TestSkipped: needs zsh: install it with make deps\n")
}

func TestEachKindOfFailureIsCountedOnceAndExplained(t *testing.T) {
	status, out := run(t, runner{}, "./...")
	// Failed: TestFaultParts/b, TestOwn, TestPanics, TestNeverEnds, TestNot, FuzzLate, outside, unbuilt.
	if got, want := lastLine(t, out), "9 passed, 8 failed, 2 skipped"; got != want || status != 1 {
		t.Errorf("got %q and status %d, want %q and 1:\n%s", got, status, want, out)
	}
	expect(t, out,
		"--- FAIL: sample/bad TestFaultParts/b\n", "why b", "--- FAIL: sample/bad TestOwn\n", "why own", "why panic", "  -shuffle=",
		"--- FAIL: sample/exits TestNeverEnds\n", "did not finish", "--- FAIL: sample/outside\n", "failed outside its tests",
		"--- FAIL: sample/unbuilt\n", "why unbuilt", "did not build")
	if strings.Contains(out, "--- FAIL: sample/bad\n") {
		t.Errorf("a package that failed through its tests is told as a failure too:\n%s", out)
	}
}

func TestNothingRunIsAFailure(t *testing.T) {
	status, out := run(t, runner{}, "./untested")
	if got := lastLine(t, out); got != "0 passed, 0 failed, 0 skipped" || status == 0 {
		t.Errorf("got %q and status %d", got, status)
	}
}

func TestABadPatternIsAFailure(t *testing.T) {
	status, out := run(t, runner{}, "./good", "./nowhere")
	if status == 0 {
		t.Errorf("status 0:\n%s", out)
	}
}

func TestCatalogueCountsItsGroups(t *testing.T) {
	status, out := run(t, runner{catalogue: true}, "./good", "./bad")
	if got, want := lastLine(t, out), "faults survived 2/3, bad inputs 0/0, security 0/0"; got != want || status != 1 {
		t.Errorf("got %q and status %d, want %q and 1", got, status, want)
	}
}

func TestMissingIsASkipOrUnderStrictAFailure(t *testing.T) {
	for strict, want := range map[bool]string{
		false: "0 passed, 0 failed, 1 skipped", true: "0 passed, 1 failed, 0 skipped",
	} {
		sum := newTally(&bytes.Buffer{})
		sum.missing("race detector", "needs a C compiler", strict)
		if got := sum.line(); got != want {
			t.Errorf("strict %v: got %q, want %q", strict, got, want)
		}
	}
}

func TestDivide(t *testing.T) {
	both, rest := divide([]string{"a", "b", "c"}, []string{"c", "a", "x"})
	if strings.Join(both, "") != "ac" || strings.Join(rest, "") != "b" {
		t.Errorf("got %v and %v", both, rest)
	}
}

func TestOutputOfATestIsBounded(t *testing.T) {
	c := &test{pkg: "p", name: "T"}
	line := strings.Repeat("x", 1023) + "\n"
	for range 1000 {
		c.keep(line)
	}
	c.keep("the last line\n")
	if c.size > keptOutput || c.output[len(c.output)-1] != "the last line\n" {
		t.Errorf("kept %d bytes, last %q", c.size, c.output[len(c.output)-1])
	}
}
