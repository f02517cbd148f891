package minimize

import (
	"fmt"
	"regexp"
	"slices"
	"strings"
	"sync"
)

var (
	goSwitch = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^=== (?:RUN|PAUSE|CONT|NAME) +(\S*)$`) })
	goResult = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^ *--- (PASS|FAIL|SKIP): (\S+) \(\d+\.\d+s\)$`) })
	goOkay   = sync.OnceValue(func() *regexp.Regexp {
		return regexp.MustCompile(`^ok  \t(\S+)\t(?:\d+\.\d+s|\(cached\))(?: \[no tests to run\])?$`)
	})
	goNone = sync.OnceValue(func() *regexp.Regexp { return regexp.MustCompile(`^\?   \t\S+\t\[no test files\]$`) })
)

// goLine is a line and the test that was running.
type goLine struct{ text, test string }

// goTest removes passed tests and their logs, and joins passed packages into one line.
// Failed, skipped and unfinished tests stay.
func goTest(lines []string, _ run) ([]string, bool) {
	var all []goLine
	passed := map[string]bool{}
	var packages []string
	var current string
	count, settled, known := 0, 0, false
	settle := func() { // at the end of a package: the next may repeat names of tests
		all = append(all[:settled], unpassed(all[settled:], passed)...)
		settled, passed = len(all), map[string]bool{}
	}
	for _, line := range lines {
		if found := goSwitch().FindStringSubmatch(line); found != nil {
			current, known = found[1], true
			continue
		}
		if found := goResult().FindStringSubmatch(line); found != nil {
			known = true
			if found[1] == "PASS" {
				passed[found[2]] = true
				count++
				continue
			}
			current = found[2]
		}
		if found := goOkay().FindStringSubmatch(line); found != nil {
			packages, known = append(packages, found[1]), true
			settle()
			current = ""
			continue
		}
		if goNone().MatchString(line) || line == "PASS" {
			known, current = true, ""
			continue
		}
		if strings.HasPrefix(line, "FAIL") || strings.HasPrefix(line, "panic: ") {
			current = "" // about a package, not a test
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

// unpassed removes the lines of passed tests.
func unpassed(lines []goLine, passed map[string]bool) []goLine {
	return slices.DeleteFunc(lines, func(line goLine) bool { return line.test != "" && passed[line.test] })
}
