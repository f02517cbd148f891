//go:build linux

package main

import (
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"
)

// TestMain lets the test's own program be the workers and their trees.
func TestMain(m *testing.M) {
	if len(os.Args) > 1 {
		if role, known := roles[os.Args[1]]; known {
			os.Exit(role(os.Args[2:]))
		}
	}
	os.Exit(m.Run())
}

// TestEveryScenarioRuns runs each once, with tiny numbers. It looks at what was
// measured at all, never at how fast that was.
func TestEveryScenarioRuns(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	for _, s := range scenarios {
		t.Run(s.name, func(t *testing.T) {
			var table bytes.Buffer
			b := bench{scenarios: []scenario{s}, rounds: 2, size: tinySize(), out: &table}
			rows, err := b.run(t.Context())
			lines := strings.Split(strings.TrimRight(table.String(), "\n"), "\n")
			if len(lines) != 1+len(s.lines) || len(rows) != len(s.lines) {
				t.Errorf("got %d lines and %d rows, want %d:\n%s", len(lines), len(rows), len(s.lines), table.String())
			}
			if slices.ContainsFunc(rows, func(r row) bool { return r.Verdict == skipped }) {
				return // this machine cannot, and the row says why
			}
			if err != nil {
				t.Fatal(err)
			}
			for _, r := range rows {
				if r.Ours == nil || len(r.OursAll) != b.rounds {
					t.Errorf("%s %s: ours is %v of %v", r.Name, r.Metric, r.Ours, r.OursAll)
				}
				if exact := r.Must == 0 && r.Verdict != none; exact && r.Verdict != ok {
					t.Errorf("%s %s: %v, want 0", r.Name, r.Metric, *r.Ours)
				}
			}
		})
	}
	if left, err := os.ReadDir(os.Getenv("TMPDIR")); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
}

// TestScenariosRunBehindEachOther: none finds what another has left.
func TestScenariosRunBehindEachOther(t *testing.T) {
	t.Setenv("TMPDIR", t.TempDir())
	b := bench{rounds: 1, size: tinySize(), out: io.Discard}
	for _, s := range scenarios {
		if s.name == "spill" || s.name == "pty-flood" || s.name == "oneshot" {
			b.scenarios = append(b.scenarios, s, s)
		}
	}
	rows, err := b.run(t.Context())
	if err != nil || len(b.scenarios) != 6 || len(rows) == 0 {
		t.Errorf("%d rows of %d scenarios: %v", len(rows), len(b.scenarios), err)
	}
}

// TestAnInterruptedSideLeavesNothing takes the input of a worker away while it
// has processes.
func TestAnInterruptedSideLeavesNothing(t *testing.T) {
	for _, c := range []struct {
		scenario string
		side     side
		round    int // whose processes are looked for
		baton    bool
	}{
		{"ask", own, 0, false},
		{"jobs-10000", own, 1, true},
		{"jobs-10000", raw, 1, true},
	} {
		t.Run(fmt.Sprintf("%s-%s", c.scenario, c.side), func(t *testing.T) {
			e := assignment{Scenario: c.scenario, Side: c.side, Size: tinySize(), Dir: t.TempDir()}
			e.Size.Live = 2000 // so many that a round is not over at once
			p, err := startPeer(t.Context(), e)
			if err != nil {
				t.Fatal(err)
			}
			mark := sleepMarkOf(p.cmd.Process.Pid, c.round)
			if c.baton {
				if err := p.baton.Encode("round"); err != nil {
					t.Fatal(err)
				}
			}
			awaitMarked(t, mark)
			if err := p.close(); err != nil {
				t.Error(err)
			}
			if left, err := marked(mark); err != nil || len(left) > 0 {
				t.Errorf("left alive: %v, %v", left, err)
			}
		})
	}
}

// awaitMarked returns when a process with the mark is there.
func awaitMarked(t *testing.T, mark string) {
	t.Helper()
	for late := time.Now().Add(time.Minute); ; {
		there, err := marked(mark)
		switch {
		case err != nil:
			t.Fatal(err)
		case len(there) > 0:
			return
		case time.Now().After(late):
			t.Fatal("the worker started nothing")
		}
	}
}

func TestWrongFlagsAreRefused(t *testing.T) {
	for _, args := range [][]string{{"-scenarios", "none"}, {"-rounds", "0"}, {"-rounds", "many"}, {"-nonsense"}} {
		if got := benchmark(args); got != 2 {
			t.Errorf("%v: exit status %d, want 2", args, got)
		}
	}
}

// The stamp program says when it ended, which is after its pause and before we
// know of its end.
func TestStampProgram(t *testing.T) {
	const pause = 20 * time.Millisecond
	program := filepath.Join(t.TempDir(), "stamp")
	if err := writeStamp(program, pause); err != nil {
		t.Fatal(err)
	}
	before := monotonic()
	output, err := exec.Command(program).Output()
	if err != nil {
		t.Fatal(err)
	}
	after := monotonic()
	at, err := readStamp(output)
	if err != nil {
		t.Fatal(err)
	}
	if at < before+int64(pause) || at > after {
		t.Errorf("it ended at %d, want between %d and %d", at, before+int64(pause), after)
	}
	if _, err := readStamp(output[1:]); err == nil {
		t.Error("a stamp that is too short was read")
	}
}

func TestContentIsWhatItsProducerWrites(t *testing.T) {
	c, err := makeContent(filepath.Join(t.TempDir(), "content"), 1)
	if err != nil {
		t.Fatal(err)
	}
	c.times = 3
	output, err := exec.Command("bash", "-c", c.producer()).Output()
	if err != nil || int64(len(output)) != c.bytes() {
		t.Fatalf("it wrote %d bytes, %v, want %d", len(output), err, c.bytes())
	}
	want, err := c.sum()
	if err != nil {
		t.Fatal(err)
	}
	if got, err := sumReader(bytes.NewReader(output)); err != nil || got != want {
		t.Errorf("got the sum %s, %v, want %s", got, err, want)
	}
}
