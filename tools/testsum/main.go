// Testsum runs the tests of the module and says what happened: the output of
// what failed, the name and reason of what was skipped, and as its last line
// the count. It needs nothing but Go, so that "make test" does not either.
//
//	testsum [flags] PATTERN...
//	testsum -fuzz PATTERN [flags]
//
// Its exit status is 0 only when at least one test ran and none failed.
package main

import (
	"flag"
	"fmt"
	"io"
	"os"
	"os/exec"
	"strconv"
	"time"
)

// packageTimeout ends a package that hangs, with the stacks of its goroutines,
// well before a CI host would end the run without them. The longest takes twelve on a
// slow machine.
const packageTimeout = 20 * time.Minute

// A runner runs the tests that its flags select.
type runner struct {
	race      patterns      // packages that run under the race detector
	also      string        // another module, whose packages run too
	run       string        // as go test -run
	count     int           // as go test -count
	timeout   time.Duration // of one package
	catalogue bool          // count faults, bad inputs and security instead
	fuzz      patterns      // packages whose fuzz targets run too
	fuzzTime  time.Duration // of one target
	strict    bool          // a missing installable is a failure
	tally     *tally
	out       io.Writer
}

func main() {
	r := &runner{out: os.Stdout, strict: os.Getenv("TROUPE_TEST_STRICT") == "1"}
	flag.Var(&r.race, "race", "pattern of packages to run under the race detector (repeatable)")
	flag.StringVar(&r.also, "also", "", "directory of another module whose tests run too")
	flag.StringVar(&r.run, "run", "", "run only the tests that match, as go test does")
	flag.IntVar(&r.count, "count", 1, "run each test so many times")
	flag.DurationVar(&r.timeout, "timeout", packageTimeout, "time limit of one package")
	flag.BoolVar(&r.catalogue, "catalogue", false, "run faults, bad inputs and security tests, and count those")
	flag.Var(&r.fuzz, "fuzz", "pattern of packages whose fuzz targets run too, after the tests if any are named (repeatable)")
	flag.DurationVar(&r.fuzzTime, "fuzztime", fuzzTime, "time that one fuzz target is given")
	flag.Parse()
	os.Exit(r.main(flag.Args()))
}

func (r *runner) main(patterns []string) int {
	if r.catalogue {
		r.run = catalogueRun
	}
	r.tally = newTally(r.out)
	if len(patterns) > 0 || len(r.fuzz) == 0 {
		if err := r.all(patterns); err != nil {
			r.tally.broken("testsum", err.Error())
		}
	}
	if len(r.fuzz) > 0 {
		if err := r.fuzzAll(); err != nil {
			r.tally.broken("testsum", err.Error())
		}
	}
	r.tally.report()
	if r.catalogue {
		fmt.Fprintln(r.out, r.tally.catalogue())
	} else {
		fmt.Fprintln(r.out, r.tally.line())
	}
	if r.tally.failed > 0 || r.tally.passed == 0 {
		return 1
	}
	return 0
}

// all runs the packages in at most three calls of go test: those under the race
// detector, the rest, and the other module.
func (r *runner) all(patterns []string) error {
	groups, err := r.plan(patterns)
	if err != nil {
		return err
	}
	for _, g := range groups {
		if err := r.test(g); err != nil {
			return err
		}
	}
	return nil
}

// test runs one group, a package at a time: its tests use all processors already, and
// two packages would make each other late.
func (r *runner) test(g group) error {
	r.compile(g)
	args := []string{"-p=1", "-shuffle=on", "-count=" + strconv.Itoa(r.count), "-timeout=" + r.timeout.String()}
	if g.race {
		args = append(args, "-race")
	}
	if r.run != "" {
		args = append(args, "-run="+r.run)
	}
	return r.goTest("go test in "+g.dir, g.dir, append(args, g.packages...)...)
}

// goTest runs go test in a directory and counts what it tells. A failure that it
// reports itself and no event explains is counted too, by the name of the call.
func (r *runner) goTest(name, dir string, args ...string) error {
	cmd := exec.Command("go", append([]string{"-C", dir, "test", "-json"}, args...)...)
	cmd.Stderr = os.Stderr
	events, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	if err := cmd.Start(); err != nil {
		return err
	}
	before := r.tally.failed + r.tally.late
	readErr := r.tally.read(events)
	if err := cmd.Wait(); err != nil && r.tally.failed+r.tally.late == before {
		r.tally.broken(name, err.Error())
	}
	return readErr
}

// compile fills the build cache for a group, with all processors. What does not
// compile is told when it is run.
func (r *runner) compile(g group) {
	args := []string{"-C", g.dir, "test", "-c", "-o", os.DevNull}
	if g.race {
		args = append(args, "-race")
	}
	_ = exec.Command("go", append(args, g.packages...)...).Run()
}
