package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
)

// keptOutput bounds what is remembered of one test's output, in bytes: the end
// of it says why it failed.
const keptOutput = 256 << 10

// An event is one line of go test -json; see go doc test2json and
// go help buildjson.
type event struct {
	Action      string
	Package     string
	Test        string
	Output      string
	ImportPath  string // of build output: what did not build
	FailedBuild string // of a failed package: the same
	Elapsed     float64
}

// A test is one that has begun and not ended, or a package (name "").
type test struct {
	pkg, name string
	output    []string
	size      int
	shuffle   string // of a package: how to run it in the same order
	parent    bool   // it has tests of its own: they are counted, it is not
	bad       bool   // one of them failed
	inputs    string // of a fuzz target: how many were tried
	fuzzed    bool   // of a package: its target passed and was told already
}

// A skip is a test that did not run, and why.
type skip struct{ name, reason string }

// tally counts tests from events. A test is counted where it ends: one that has
// subtests only if it fails on its own account.
type tally struct {
	passed, failed int
	skips          []skip
	open           map[[2]string]*test
	builds         map[string][]string
	failures       map[string]int    // by package
	groups         map[string]*score // by catalogue group
	dirs           map[string]string // by package, where its fuzz targets write
	late           int               // fuzz targets that passed, whatever go test says of them
	out            io.Writer
}

func newTally(out io.Writer) *tally {
	return &tally{
		open: map[[2]string]*test{}, builds: map[string][]string{},
		failures: map[string]int{}, groups: map[string]*score{}, dirs: map[string]string{}, out: out,
	}
}

// read takes events until the end. A line that is no event is passed on.
func (t *tally) read(r io.Reader) error {
	lines := bufio.NewReader(r)
	for {
		line, err := lines.ReadString('\n')
		if line != "" {
			var e event
			if json.Unmarshal([]byte(line), &e) == nil && e.Action != "" {
				t.take(e)
			} else {
				fmt.Fprint(t.out, line)
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
	}
}

func (t *tally) take(e event) {
	switch e.Action {
	case "build-output":
		t.builds[e.ImportPath] = append(t.builds[e.ImportPath], e.Output)
	case "run":
		t.begin(e)
	case "output":
		t.test(e).keep(t.placed(e))
	case "pass", "fail", "skip":
		if e.Test == "" {
			t.endPackage(e)
		} else {
			t.end(e)
		}
	}
}

// begin opens a test, and makes its parent one.
func (t *tally) begin(e event) {
	t.test(e)
	if i := strings.LastIndexByte(e.Test, '/'); i > 0 {
		if p := t.open[[2]string{e.Package, e.Test[:i]}]; p != nil {
			p.parent = true
		}
	}
}

func (t *tally) test(e event) *test {
	key := [2]string{e.Package, e.Test}
	if t.open[key] == nil {
		t.open[key] = &test{pkg: e.Package, name: e.Test}
	}
	return t.open[key]
}

func (t *tally) end(e event) {
	c := t.test(e)
	delete(t.open, [2]string{e.Package, e.Test})
	if e.Action == "fail" && c.timeUp() {
		e.Action = "pass"
		t.late++
	}
	if e.Action == "fail" {
		t.blame(c)
	}
	switch {
	case c.parent && (e.Action != "fail" || c.bad):
	case e.Action == "pass":
		t.passed++
		t.score(c.name).passed++
		if c.inputs != "" {
			fmt.Fprintf(t.out, "ok    %s  %.1fs, %s inputs\n", c, e.Elapsed, c.inputs)
			t.test(event{Package: e.Package}).fuzzed = true
		}
	case e.Action == "skip":
		t.skip(c.String(), c.reason())
	default:
		t.fail(c, "")
		t.score(c.name).failed++
	}
	if c.parent && e.Action == "fail" && c.bad && c.size > 0 {
		t.print(c) // what it said itself explains its subtests
	}
}

// blame tells the tests above a failed one that the failure is counted already.
func (t *tally) blame(c *test) {
	for name := c.name; ; {
		i := strings.LastIndexByte(name, '/')
		if i < 0 {
			return
		}
		name = name[:i]
		if p := t.open[[2]string{c.pkg, name}]; p != nil {
			p.bad = true
		}
	}
}

// endPackage counts the tests that the end of their package cut off, and a
// package that failed without a test: it did not build, or it panicked.
func (t *tally) endPackage(e event) {
	self := t.test(e)
	delete(t.open, [2]string{e.Package, ""})
	cut := t.cutOff(e.Package)
	switch {
	case self.fuzzed:
		return
	case e.Action != "fail":
		if e.Action == "pass" {
			fmt.Fprintf(t.out, "ok    %s  %.1fs\n", e.Package, e.Elapsed)
		}
		return
	}
	fmt.Fprintf(t.out, "FAIL  %s  %.1fs%s\n", e.Package, e.Elapsed, self.shuffle)
	for _, c := range cut {
		t.fail(c, "did not finish")
	}
	if e.FailedBuild != "" {
		self.output = append(t.builds[e.FailedBuild], self.output...)
		t.fail(self, "did not build")
		return
	}
	if t.failures[e.Package] == 0 {
		t.fail(self, "failed outside its tests")
		return
	}
	if self.size > 0 {
		t.print(self)
	}
}

// cutOff takes the leaves among the tests of a package that never ended.
func (t *tally) cutOff(pkg string) []*test {
	var cut []*test
	for key, c := range t.open {
		if key[0] == pkg {
			delete(t.open, key)
			if !c.parent {
				cut = append(cut, c)
			}
		}
	}
	slices.SortFunc(cut, func(a, b *test) int { return strings.Compare(a.name, b.name) })
	return cut
}

func (t *tally) fail(c *test, why string) {
	t.failed++
	t.failures[c.pkg]++
	if why != "" {
		c.keep("    " + why + "\n")
	}
	t.print(c)
}
