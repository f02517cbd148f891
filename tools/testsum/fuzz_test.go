package main

import (
	"os"
	"regexp"
	"strings"
	"testing"
	"time"
)

// fuzzing is a runner that only fuzzes, not for long.
func fuzzing(patterns ...string) runner { return runner{fuzz: patterns, fuzzTime: time.Second} }

func TestEachFuzzTargetIsFoundAndGivenItsTime(t *testing.T) {
	status, out := run(t, fuzzing("./fuzzed", "./good", "./untested"))
	if got, want := lastLine(t, out), "1 passed, 1 failed, 1 skipped"; got != want || status != 1 {
		t.Errorf("got %q and status %d, want %q and 1:\n%s", got, status, want, out)
	}
	expect(t, out, "skipped  sample/fuzzed FuzzSkipped: needs zsh: install it with make deps\n", "--- FAIL: sample/fuzzed FuzzBad\n", "why some")
	if !regexp.MustCompile(`ok    sample/fuzzed FuzzGood  1\.\ds, [1-9]\d* inputs\n`).MatchString(out) {
		t.Errorf("it is not said what FuzzGood tried:\n%s", out)
	}
	if strings.Contains(out, "a test ran") || strings.Contains(out, "elapsed") {
		t.Errorf("tests ran, or it is told how targets get on:\n%s", out)
	}
	said := regexp.MustCompile(`Failing input written to (\S+)`).FindStringSubmatch(out)
	if said == nil {
		t.Fatalf("it is not said where the failing input is:\n%s", out)
	}
	if text, err := os.ReadFile(said[1]); err != nil || !strings.HasPrefix(said[1], "fuzzed/testdata/fuzz/FuzzBad/") {
		t.Errorf("%s is not the input: %q, %v", said[1], text, err)
	}
}

func TestFuzzTargetsRunAfterTheTests(t *testing.T) {
	status, out := run(t, fuzzing("./fuzzed"), "./good")
	if got, want := lastLine(t, out), "5 passed, 1 failed, 2 skipped"; got != want || status != 1 {
		t.Errorf("got %q and status %d, want %q and 1:\n%s", got, status, want, out)
	}
}

func TestPackagesThatCannotTellTheirFuzzTargetsAreFailures(t *testing.T) {
	status, out := run(t, fuzzing("./unbuilt", "./outside", "./good"))
	if got, want := lastLine(t, out), "0 passed, 2 failed, 0 skipped"; got != want || status != 1 {
		t.Errorf("got %q and status %d, want %q and 1:\n%s", got, status, want, out)
	}
	expect(t, out, "--- FAIL: sample/unbuilt\n", "why unbuilt", "did not build", "--- FAIL: sample/outside\n")
}

func TestNothingToFuzzIsAFailure(t *testing.T) {
	status, out := run(t, fuzzing("./good"))
	if got := lastLine(t, out); got != "0 passed, 0 failed, 0 skipped" || status == 0 {
		t.Errorf("got %q and status %d", got, status)
	}
}

func TestTheEndOfItsTimeIsNoFailureOfATarget(t *testing.T) {
	status, out := run(t, fuzzing("./late"))
	if got, want := lastLine(t, out), "1 passed, 0 failed, 0 skipped"; got != want || status != 0 {
		t.Errorf("got %q and status %d, want %q and 0:\n%s", got, status, want, out)
	}
}
