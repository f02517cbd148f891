package main

import (
	"bytes"
	"fmt"
	"os/exec"
	"strings"
)

// patterns is a flag that may be given several times.
type patterns []string

func (p *patterns) String() string     { return strings.Join(*p, " ") }
func (p *patterns) Set(s string) error { *p = append(*p, s); return nil }

// A group is one call of go test.
type group struct {
	dir      string
	packages []string
	race     bool
}

// plan divides the packages of the patterns into groups. Without a C compiler
// there is no race detector: then its packages run without, and that is counted
// as one skipped test, or as a failure where nothing may be missing.
func (r *runner) plan(want []string) ([]group, error) {
	every, err := list(want)
	if err != nil {
		return nil, err
	}
	var raced []string
	if len(r.race) > 0 {
		if raced, err = list(r.race); err != nil {
			return nil, err
		}
	}
	detector := len(raced) == 0 || canRace()
	if !detector {
		r.tally.missing("race detector", "needs a C compiler: install it with make deps", r.strict)
	}
	first, rest := divide(every, raced)
	groups := []group{{dir: ".", packages: first, race: detector}, {dir: ".", packages: rest}}
	if r.also != "" {
		groups = append(groups, group{dir: r.also, packages: []string{"./..."}})
	}
	kept := groups[:0]
	for _, g := range groups {
		if len(g.packages) > 0 {
			kept = append(kept, g)
		}
	}
	return kept, nil
}

// divide splits every into what is also in raced and what is not, in order.
func divide(every, raced []string) (both, rest []string) {
	in := make(map[string]bool, len(raced))
	for _, p := range raced {
		in[p] = true
	}
	for _, p := range every {
		if in[p] {
			both = append(both, p)
		} else {
			rest = append(rest, p)
		}
	}
	return both, rest
}

// list names the packages of the patterns. One that does not parse is listed
// too (-e): go test will say what is wrong with it.
func list(patterns []string) ([]string, error) {
	out, err := exec.Command("go", append([]string{"list", "-e"}, patterns...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", strings.Join(patterns, " "), err)
	}
	return strings.Fields(string(out)), nil
}

// canRace says whether go test -race can link: it needs cgo, and the go command
// turns cgo off where it finds no C compiler.
func canRace() bool {
	out, err := exec.Command("go", "env", "CGO_ENABLED").Output()
	return err == nil && string(bytes.TrimSpace(out)) == "1"
}
