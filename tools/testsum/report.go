package main

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
)

// line is the last line of a run.
func (t *tally) line() string {
	return fmt.Sprintf("%d passed, %d failed, %d skipped", t.passed, t.failed, len(t.skips))
}

// report lists what was skipped, by name and with the reason.
func (t *tally) report() {
	slices.SortFunc(t.skips, func(a, b skip) int { return strings.Compare(a.name, b.name) })
	for _, s := range t.skips {
		fmt.Fprintf(t.out, "skipped  %s: %s\n", s.name, s.reason)
	}
	if t.passed == 0 && t.failed == 0 {
		fmt.Fprintln(t.out, "no test ran")
	}
}

// broken counts a failure that is no test's.
func (t *tally) broken(name, why string) {
	t.failed++
	fmt.Fprintf(t.out, "--- FAIL: %s: %s\n", name, why)
}

// missing counts something that cannot be tested here.
func (t *tally) missing(name, why string, strict bool) {
	if strict {
		t.broken(name, why)
		return
	}
	t.skip(name, why)
}

func (t *tally) skip(name, reason string) {
	t.skips = append(t.skips, skip{name, reason})
}

func (t *tally) print(c *test) {
	said := strings.TrimRight(strings.Join(c.output, ""), "\n")
	if said != "" {
		said += "\n"
	}
	fmt.Fprintf(t.out, "--- FAIL: %s\n%s", c, said)
}

func (c *test) String() string {
	if c.name == "" {
		return c.pkg
	}
	return c.pkg + " " + c.name
}

// keep remembers output, and forgets its oldest lines above keptOutput.
func (c *test) keep(line string) {
	word, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
	switch {
	case word == "-test.shuffle":
		c.shuffle = "  -shuffle=" + rest
		return
	case word == "fuzz:": // how it gets on
		if _, n, ok := strings.Cut(rest, "execs: "); ok {
			c.inputs, _, _ = strings.Cut(n, " ")
		}
		return
	case word == "===" || word == "---", c.name == "" && noise(word):
		return // said by the report itself
	}
	c.output = append(c.output, line)
	c.size += len(line)
	for c.size > keptOutput && len(c.output) > 1 {
		c.size -= len(c.output[0])
		c.output = c.output[1:]
	}
}

// placed is a line of output. Where a fuzz target has written the input that failed is
// told from here: it has to be kept.
func (t *tally) placed(e event) string {
	const written = "Failing input written to "
	if before, file, ok := strings.Cut(e.Output, written); ok && t.dirs[e.Package] != "" {
		return before + written + filepath.ToSlash(filepath.Join(t.dirs[e.Package], file))
	}
	return e.Output
}

// timeUp says that the end of its time is all that a fuzz target failed by: before 1.27 go
// test may take that for a failure (go.dev/issue/75804). An input that fails is written.
func (c *test) timeUp() bool {
	n := len(c.output)
	return c.inputs != "" && n > 0 && strings.TrimSpace(c.output[n-1]) == "context deadline exceeded"
}

// noise is what go test says of a package, and the report says too.
func noise(word string) bool {
	word, _, _ = strings.Cut(word, "\t")
	return word == "FAIL" || word == "PASS" || word == "ok"
}

// reason is what a skipped test said, without the place in the source.
func (c *test) reason() string {
	text := strings.TrimSpace(strings.Join(c.output, ""))
	if place, rest, ok := strings.Cut(text, ": "); ok && strings.Contains(place, ".go:") {
		text = rest
	}
	if text == "" {
		return "no reason given"
	}
	return strings.Join(strings.Fields(text), " ")
}

// score counts one group of the catalogue.
type score struct{ passed, failed int }

// The groups of the catalogue are told apart by the names of their tests.
const catalogueRun = "^Test(Fault|BadInput|Security)"

func (t *tally) score(name string) *score {
	group := ""
	for _, prefix := range []string{"TestFault", "TestBadInput", "TestSecurity"} {
		if strings.HasPrefix(name, prefix) {
			group = prefix
		}
	}
	if t.groups[group] == nil {
		t.groups[group] = &score{}
	}
	return t.groups[group]
}

// catalogue is the last line of a run of the catalogue.
func (t *tally) catalogue() string {
	of := func(name string) string {
		s := t.score(name)
		return fmt.Sprintf("%d/%d", s.passed, s.passed+s.failed)
	}
	return fmt.Sprintf("faults survived %s, bad inputs %s, security %s",
		of("TestFault"), of("TestBadInput"), of("TestSecurity"))
}
