package supervision_test

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

var updateRequirements = flag.Bool("update-requirements", false, "write docs/requirements.md anew")

// requirement is one line of testdata/requirements.tsv.
type requirement struct{ number, group, strength, dialects, line string }

// citedTest is a test that cites a requirement.
type citedTest struct{ folder, name string }

func (c citedTest) String() string { return fmt.Sprintf("`%s` %s", c.folder, c.name) }

// TestRequirementsHaveTests: what must hold has a test that is named after it and shows what a
// front end has, and docs/requirements.md tells which.
func TestRequirementsHaveTests(t *testing.T) {
	proofs := requirementTests(t)
	tree := loadTypedTree(t, "..")
	library := tree.libraryTests(tree.unused())
	var doc strings.Builder
	doc.WriteString("# Requirements\n\nWhat troupe promises to the users of each dialect, by number, and the tests that hold it to that: those that have its number in their\n" +
		"name, or in parentheses in their comment. Where there is none, nothing holds troupe to it: \"no test\" is of what is not built, in part, or not shown.\n" +
		"\"Library only\" is what is built and tested, and no front end of troupe uses: its tests use a function that the\n" +
		"command does not reach, or an option that none sets. Made from the tests by\n`go test ./supervision_test -run TestRequirementsHaveTests -update-requirements`; nobody edits it.\n\n| number | strength | dialect | what | tests |\n| --- | --- | --- | --- | --- |\n")
	for _, r := range requirements(t) {
		tests := proofs[r.number]
		delete(proofs, r.number)
		shown := joinTests(tests)
		switch {
		case len(tests) == 0:
			shown = "no test"
			if r.strength == "MUST" {
				t.Errorf("R-%s must hold and has no test: %s", r.number, r.line)
			}
		case allIn(tests, library):
			shown = "library only: " + shown
			if r.strength == "MUST" {
				t.Errorf("R-%s must hold and reaches no user: what %v use has none", r.number, tests)
			}
		}
		fmt.Fprintf(&doc, "| R-%s | %s | %s | %s | %s |\n", r.number, r.strength, r.dialects, strings.ReplaceAll(r.line, "|", `\|`), shown)
	}
	for number, tests := range proofs {
		t.Errorf("there is no requirement R-%s, which %v say they test", number, tests)
	}
	path := filepath.Join("..", "docs", "requirements.md")
	if *updateRequirements {
		if err := os.WriteFile(path, []byte(doc.String()), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	if readDoc(t, "docs", "requirements.md") != doc.String() {
		t.Error("docs/requirements.md is not what the tests say; run this test with -update-requirements")
	}
}

func joinTests(tests []citedTest) string {
	var names []string
	for _, test := range tests {
		names = append(names, test.String())
	}
	return strings.Join(names, "<br>")
}

// allIn reports whether each of the tests is in a set.
func allIn(tests []citedTest, set map[citedTest]bool) bool {
	return !slices.ContainsFunc(tests, func(test citedTest) bool { return !set[test] })
}

func requirements(t *testing.T) []requirement {
	t.Helper()
	var all []requirement
	for line := range strings.Lines(readDoc(t, "supervision_test", "testdata", "requirements.tsv")) {
		f := strings.Split(strings.TrimSuffix(line, "\n"), "\t")
		if len(f) != 5 {
			t.Fatalf("a line of requirements.tsv has %d fields: %s", len(f), line)
		}
		all = append(all, requirement{strings.TrimPrefix(f[0], "R-"), f[1], f[2], f[3], f[4]})
	}
	if len(all) != 294 {
		t.Fatalf("requirements.tsv has %d lines", len(all))
	}
	return all
}

// requirementTests are the tests by the number that they are named after, or that stands
// in parentheses in their comment.
func requirementTests(t *testing.T) map[string][]citedTest {
	t.Helper()
	test := regexp.MustCompile(`(?m)((?:^//.*\n)*)^func (Test(?:R(\d{3})_)?\w+)\(`)
	cited := regexp.MustCompile(`\([^()]*\bR-\d{3}[^()]*\)`)
	number := regexp.MustCompile(`\bR-(\d{3})`)
	tests := map[string][]citedTest{}
	for _, f := range houseTree(t, "..") {
		if !f.test {
			continue
		}
		for _, m := range test.FindAllStringSubmatch(f.text, -1) {
			numbers := map[string]bool{}
			if m[3] != "" {
				numbers[m[3]] = true
			}
			for _, in := range cited.FindAllString(m[1], -1) {
				for _, n := range number.FindAllStringSubmatch(in, -1) {
					numbers[n[1]] = true
				}
			}
			for n := range numbers {
				tests[n] = append(tests[n], citedTest{f.folder, m[2]})
			}
		}
	}
	for _, list := range tests {
		slices.SortFunc(list, func(a, b citedTest) int { return strings.Compare(a.String(), b.String()) })
	}
	return tests
}
