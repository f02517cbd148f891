package minimize

import (
	"fmt"
	"regexp"
	"slices"
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
	count, settled, known := 0, 0, false
	settle := func() { // at the end of a package: the next one may have tests of the same names
		all = append(all[:settled], unpassed(all[settled:], passed)...)
		settled, passed = len(all), map[string]bool{}
	}
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
			settle()
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
				settle()
			}
		}
		all = append(all, goLine{line, current})
	}
	if !known {
		return nil, false
	}
	var kept []string
	settle()
	for _, line := range all {
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

// unpassed takes out the lines of tests that passed.
func unpassed(lines []goLine, passed map[string]bool) []goLine {
	return slices.DeleteFunc(lines, func(line goLine) bool { return line.test != "" && passed[line.test] })
}
