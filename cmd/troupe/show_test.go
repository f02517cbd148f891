package main

import (
	"crypto/sha256"
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// object is what a test reads of run --json.
type object struct {
	Outcome  string
	ExitCode int `json:"exit_code"`
	Output   map[string]struct {
		Bytes, Lines int64
		LinesExact   bool `json:"lines_exact"`
		File         string
	}
	Text      string
	Truncated bool
}

// object reads stdout to its end.
func (p *process) object() object {
	p.t.Helper()
	var o object
	text := p.rest()
	if err := json.Unmarshal([]byte(text), &o); err != nil {
		p.t.Fatalf("%v in %.1000q; stderr: %s", err, text, p.err)
	}
	return o
}

// The bytes and lines of a large output are exact, and the file that the object
// names is there when troupe is not, with every byte.
func TestALargeOutputIsKeptWhole(t *testing.T) {
	t.Parallel()
	const n, bytes = 20_000_000, 168_888_897
	p := program(t, "run", "--json", "seq 1 20000000").start()
	o := p.object()
	p.ends(0)
	out := o.Output["merged"]
	if out.Bytes != bytes || out.Lines != n || !out.LinesExact || !o.Truncated {
		t.Errorf("%+v, truncated %v", out, o.Truncated)
	}
	if !strings.HasPrefix(o.Text, "[1688") || !strings.Contains(o.Text, out.File) || !strings.HasSuffix(o.Text, "\n19999999\n20000000\n") {
		t.Errorf("the text is %.200q ... %q", o.Text, o.Text[max(0, len(o.Text)-40):])
	}
	file, err := os.Open(out.File)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	got, want := sha256.New(), sha256.New()
	if size, err := io.Copy(got, file); size != bytes || err != nil {
		t.Errorf("the file has %d bytes, %v", size, err)
	}
	sequence(want, n)
	if sum(got) != sum(want) {
		t.Error("the file has other bytes")
	}
}

// A real test suite has its own exit status and its own words.
func TestARealTestSuite(t *testing.T) {
	t.Parallel()
	module, err := filepath.Abs("testdata/module")
	if err != nil {
		t.Fatal(err)
	}
	p := programFor(t, long, "run", "-C", module, "go", "test", "./...").withGoCaches().start()
	if got := p.rest(); !strings.HasPrefix(got, "ok  \texample.org/greeting") {
		t.Errorf("it printed %q", got)
	}
	p.ends(0)

	p = programFor(t, long, "run", "-C", module, "-e", "GREETING_BROKEN=1", "go", "test", "./...").withGoCaches().start()
	if got := p.rest(); !strings.Contains(got, "--- FAIL: TestHelloEverybody") || !strings.HasSuffix(got, "\nFAIL\n") {
		t.Errorf("it printed %q", got)
	}
	p.ends(1)

	p = programFor(t, long, "run", "--json", "-C", module, "go test -v ./... 2>&1 | grep -c '^--- PASS'").withGoCaches().start()
	if o := p.object(); o.Text != "2\n" || o.Outcome != "exited" {
		t.Errorf("%+v", o)
	}
	p.ends(0)
}
