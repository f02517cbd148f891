// Testsum reads the events of go test -json on stdin. It prints a line for each package
// that ends, the output of failed tests at once, and at the end the skipped tests with
// their reasons and the counts. gotestsum's library reads the events; its formats lack
// the position of a package, and its counts include the parents of subtests.
//
// The exit status is 0 only if a test passed and none failed.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"strings"

	"gotest.tools/gotestsum/testjson"
)

// report prints events as they arrive.
type report struct {
	out      io.Writer
	of, done int // packages in the run, packages that have ended
}

func main() {
	of := flag.Int("of", 0, "number of packages in the run")
	catalogue := flag.Bool("catalogue", false, "count faults, bad inputs and security tests instead")
	flag.Parse()
	os.Exit(run(os.Stdin, os.Stdout, *of, *catalogue))
}

func run(in io.Reader, out io.Writer, of int, catalogue bool) int {
	x, err := testjson.ScanTestOutput(testjson.ScanConfig{Stdout: in, Handler: &report{out: out, of: of}, IgnoreNonJSONOutputLines: true})
	var passed, failed []testjson.TestCase
	skipped := 0
	for _, name := range x.Packages() {
		p := x.Package(name)
		passed = append(passed, leaves(p, p.Passed)...)
		for _, c := range leaves(p, p.Skipped) {
			skipped++
			fmt.Fprintf(out, "skipped  %s %s: %s\n", c.Package, c.Test, reason(said(p, c)))
		}
	}
	for _, c := range testjson.FilterFailedUnique(x.Failed()) {
		if timeUp(said(x.Package(c.Package), c)) {
			passed = append(passed, c)
			fmt.Fprintf(out, "passed   %s %s: only its time ended\n", c.Package, c.Test)
		} else {
			failed = append(failed, c)
		}
	}
	if err != nil {
		fmt.Fprintln(out, "testsum:", err)
	}
	if catalogue {
		fmt.Fprintf(out, "faults survived %s, bad inputs %s, security %s\n",
			score(passed, failed, "TestFault"), score(passed, failed, "TestBadInput"), score(passed, failed, "TestSecurity"))
	} else {
		fmt.Fprintf(out, "%d passed, %d failed, %d skipped\n", len(passed), len(failed), skipped)
	}
	if err != nil || len(failed) > 0 || len(passed) == 0 {
		return 1
	}
	return 0
}

func (r *report) Err(text string) error { _, err := fmt.Fprintln(r.out, text); return err }

func (r *report) Event(e testjson.TestEvent, x *testjson.Execution) error {
	p := x.Package(e.Package)
	switch {
	case e.Action == testjson.ActionBuild:
		fmt.Fprint(r.out, e.Output)
	case e.Test != "" && e.Action == testjson.ActionFail:
		fmt.Fprintf(r.out, "--- FAIL: %s %s\n%s", e.Package, e.Test, said(p, p.LastFailedByName(e.Test)))
	case e.Test == "" && e.Action == testjson.ActionFail:
		fmt.Fprint(r.out, said(p, testjson.TestCase{}))
		fallthrough
	case e.Test == "" && e.Action.IsTerminal():
		r.done++
		word := map[testjson.Action]string{testjson.ActionPass: "ok", testjson.ActionFail: "FAIL", testjson.ActionSkip: "none"}[e.Action]
		fmt.Fprintf(r.out, "[%d/%d] %-4s %s %.1fs (%d tests)\n", r.done, r.of, word, e.Package, e.Elapsed, len(leaves(p, p.TestCases())))
	}
	return nil
}

// leaves are those of some tests that have no subtests.
func leaves(p *testjson.Package, some []testjson.TestCase) (leaves []testjson.TestCase) {
	parents := map[string]bool{}
	for _, c := range p.TestCases() {
		parents[c.Test.Parent()] = true
	}
	for _, c := range some {
		if !parents[c.Test.Name()] {
			leaves = append(leaves, c)
		}
	}
	return leaves
}

// score is a group of the catalogue: how many of its tests passed, of how many.
func score(passed, failed []testjson.TestCase, prefix string) string {
	count := func(some []testjson.TestCase) (n int) {
		for _, c := range some {
			if strings.HasPrefix(c.Test.Name(), prefix) {
				n++
			}
		}
		return n
	}
	return fmt.Sprintf("%d/%d", count(passed), count(passed)+count(failed))
}

// timeUp reports a fuzz target that failed only because its time ended: before 1.27 go
// test may take that for a failure (go.dev/issue/75804). A failing input is written.
func timeUp(text string) bool {
	return strings.Contains(text, "execs: ") && strings.HasSuffix(strings.TrimSpace(text), "context deadline exceeded")
}

// said is the output of a test, or of its package (no test), without what go test adds.
func said(p *testjson.Package, c testjson.TestCase) string {
	var text strings.Builder
	for _, line := range p.OutputLines(c) {
		if start := strings.TrimSpace(line); !strings.HasPrefix(start, "=== ") && !strings.HasPrefix(start, "--- ") {
			text.WriteString(line)
		}
	}
	return text.String()
}

// reason is what a skipped test said, without the place in the source.
func reason(text string) string {
	if place, rest, ok := strings.Cut(text, ": "); ok && strings.Contains(place, ".go:") {
		text = rest
	}
	if text = strings.Join(strings.Fields(text), " "); text == "" {
		return "no reason given"
	}
	return text
}
