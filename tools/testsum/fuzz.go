package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// fuzzTime is how long one fuzz target is given: enough for a few hundred thousand
// inputs of most, and for all of them within a coffee break.
const fuzzTime = 20 * time.Second

// fuzzers is how many processes make inputs for one target. Each may take the
// memory of the largest input there is.
const fuzzers = 2

// A target is one fuzz function.
type target struct{ pkg, name string }

// fuzzAll gives each fuzz target of the packages its time, one after the other, as go
// test wants it. The inputs that it finds interesting stay in the build cache, and the
// next run goes on from there; one that fails is written beside the test, as a seed.
func (r *runner) fuzzAll() error {
	targets, err := r.targets()
	if err != nil {
		return err
	}
	for _, t := range targets {
		err := r.goTest("go test -fuzz "+t.name+" "+t.pkg, ".",
			"-run=^$", "-fuzz=^"+t.name+"$", "-fuzztime="+r.fuzzTime.String(), "-parallel="+strconv.Itoa(fuzzers), "-timeout="+r.timeout.String(), t.pkg)
		if err != nil {
			return err
		}
	}
	return nil
}

// targets are the fuzz targets of the packages, in order. A package that cannot be
// asked is a failure, told as that of a test is.
func (r *runner) targets() ([]target, error) {
	out, err := exec.Command("go", append([]string{"list", "-e", "-f", "{{.ImportPath}} {{.Dir}}"}, r.fuzz...)...).Output()
	if err != nil {
		return nil, fmt.Errorf("go list %s: %w", &r.fuzz, err)
	}
	here, err := os.Getwd()
	if err != nil {
		return nil, err
	}
	var packages []string
	for line := range strings.Lines(string(out)) {
		pkg, dir, _ := strings.Cut(strings.TrimSpace(line), " ")
		packages = append(packages, pkg)
		if below, err := filepath.Rel(here, dir); err == nil {
			r.tally.dirs[pkg] = below
		}
	}
	cmd := exec.Command("go", append([]string{"test", "-json", "-list=^Fuzz"}, packages...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	before := r.tally.failed
	targets, readErr := r.listed(events)
	if err := cmd.Wait(); err != nil && r.tally.failed == before {
		r.tally.broken("go test -list", err.Error())
	}
	return targets, readErr
}

// listed reads the names of fuzz targets from the events of go test -list, and counts
// the packages that failed to tell theirs.
func (r *runner) listed(events io.Reader) ([]target, error) {
	var targets []target
	said := map[string][]event{}
	for lines := json.NewDecoder(events); ; {
		var e event
		switch err := lines.Decode(&e); {
		case errors.Is(err, io.EOF):
			return targets, nil
		case err != nil:
			return targets, fmt.Errorf("go test -list: %w", err)
		}
		switch e.Action {
		case "build-output":
			r.tally.take(e)
		case "output":
			said[e.Package] = append(said[e.Package], e)
		case "pass":
			for _, line := range said[e.Package] {
				if name := strings.TrimSpace(line.Output); strings.HasPrefix(name, "Fuzz") {
					targets = append(targets, target{e.Package, name})
				}
			}
		case "fail":
			for _, line := range said[e.Package] {
				r.tally.take(line)
			}
			r.tally.take(e)
		}
	}
}
