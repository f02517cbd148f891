package minimize

import (
	"fmt"
	"regexp"
	"strings"
)

var (
	goSwitch = regexp.MustCompile(`^=== (?:RUN|PAUSE|CONT|NAME) +(\S*)$`)
	goResult = regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): (\S+) \(\d+\.\d+s\)$`)
	goOkay   = regexp.MustCompile(`^ok  \t(\S+)\t(?:\d+\.\d+s|\(cached\))(?: \[no tests to run\])?$`)
	goNone   = regexp.MustCompile(`^\?   \t\S+\t\[no test files\]$`)
)

// goLine is a line, and the test that was running.
type goLine struct{ text, test string }

// goTest takes out the tests that passed and what they logged, and writes the packages that
// passed in one line. What failed, was skipped, or never came to an end stays.
func goTest(lines []string, _ run) ([]string, bool) {
	var all []goLine
	passed := map[string]bool{}
	var packages []string
	var current string
	count, known := 0, false
	for _, line := range lines {
		if found := goSwitch.FindStringSubmatch(line); found != nil {
			current, known = found[1], true
			continue
		}
		if found := goResult.FindStringSubmatch(line); found != nil {
			known = true
			if found[1] == "PASS" {
				passed[found[2]] = true
				count++
				continue
			}
			current = found[2]
		}
		if found := goOkay.FindStringSubmatch(line); found != nil {
			packages, known = append(packages, found[1]), true
			all = settle(all, passed)
			current = ""
			continue
		}
		if goNone.MatchString(line) || line == "PASS" {
			known, current = true, ""
			continue
		}
		if strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "panic: ") {
			current = "" // no more of a test: of a package
			if strings.HasPrefix(line, "FAIL\t") {
				all = settle(all, passed)
			}
		}
		all = append(all, goLine{line, current})
	}
	if !known {
		return nil, false
	}
	var kept []string
	for _, line := range settle(all, passed) {
		kept = append(kept, line.text)
	}
	if count > 0 {
		kept = append(kept, fmt.Sprintf(textPassed, count))
	}
	if len(packages) > 0 {
		kept = append(kept, fmt.Sprintf(textOkay, strings.Join(packages, ", ")))
	}
	return kept, true
}

// settle takes out the lines of tests that passed, at the end of their package: the next
// one may have tests of the same names.
func settle(all []goLine, passed map[string]bool) []goLine {
	kept := all[:0]
	for _, line := range all {
		if line.test == "" || !passed[line.test] {
			kept = append(kept, goLine{line.text, ""})
		}
	}
	clear(passed)
	return kept
}
