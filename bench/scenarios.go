package main

import (
	"fmt"
	"slices"
	"strings"
)

// line is one line of the report: a figure and what it is held against.
type line struct {
	suffix string // behind the scenario's name: "-lib" is the library's mode
	metric string
	key    string // in the values of a round
	side   side   // whose figure "ours" is
	alone  bool   // the figure itself is held against the targets, not its ratio to raw
	better sense
	must   float64
	aim    float64
}

// scenario is one scenario of performance.md §3.
type scenario struct {
	name  string
	sides []side // in the order in which they take turns; raw is the last
	lines []line
}

// side is who runs a scenario, each in a process of its own: a node that owns
// its process reaps every child that it finds there.
type side string

const (
	own     side = "own"     // troupe, Options.OwnProcess
	library side = "library" // troupe in a process that has children of its own
	raw     side = "raw"     // no troupe: what a good Go programmer would write
)

// librarySuffix marks the lines of a node in somebody else's process.
const librarySuffix = "-lib"

// scenarios are those of performance.md §3 that need no daemon and no live shell,
// in its order; the targets are its own. Where it gives one aim for two figures,
// both have it.
var scenarios = []scenario{
	{"oneshot", []side{own, library, raw}, []line{
		{"", "p50 ms", "p50", own, false, atMost, 1.05, 0.98},
		{"", "p99 ms", "p99", own, false, atMost, 1.15, 0.98},
		{librarySuffix, "p50 ms", "p50", library, false, atMost, 1.05, 0.98},
		{librarySuffix, "p99 ms", "p99", library, false, atMost, 1.15, 0.98},
	}},
	{"throughput", []side{own, library, raw}, []line{
		{"", "jobs/s", "rate", own, false, atLeast, 1.00, 1.10},
		{librarySuffix, "jobs/s", "rate", library, false, atLeast, 1.00, 1.10},
	}},
	{"spill", []side{own, raw}, []line{
		{"", "MB/s", "rate", own, false, atLeast, 1.00, 1.35},
		{"", "sha256 wrong", "wrong", own, true, atMost, 0, 0},
		{"", "RSS MiB", "rss", own, true, atMost, 2, 1},
	}},
	{"jobs-10000", []side{own, raw}, []line{
		{"", "start jobs/s", "rate", own, false, atLeast, 0.90, 0.97},
		{"", "threads", "threads", own, true, atMost, 64, 12},
		{"", "RSS KiB/job", "rss", own, true, atMost, 12, 6},
		{"", "stop s", "stop", own, false, atMost, 1.3, 1.05},
		{"", "left", "left", own, true, atMost, 0, 0},
	}},
	{"cancel", []side{own, raw}, []line{
		{"", "stop s", "stop", own, false, atMost, 1.25, 1.05},
		{"", "survivors", "left", own, true, atMost, 0, 0},
	}},
	{"notify", []side{own, raw}, []line{
		{"", "p50 ms", "p50", own, false, atMost, 1.5, 1.15},
		{"", "p99 ms", "p99", own, false, atMost, 2, 1.3},
	}},
	{"ask", []side{own, raw}, []line{
		{"", "us", "time", own, false, atMost, 8, 4},
		{"", "allocs", "allocs", own, true, atMost, 12, 4},
	}},
}

// choose gives the scenarios that are named, separated by commas; "" is all.
func choose(names string) ([]scenario, error) {
	if names == "" {
		return scenarios, nil
	}
	var chosen []scenario
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("there is no scenario %q; there are %s", name, scenarioNames())
		}
		chosen = append(chosen, scenarios[i])
	}
	return chosen, nil
}

func scenarioNames() string {
	var names []string
	for _, s := range scenarios {
		names = append(names, s.name)
	}
	return strings.Join(names, ", ")
}

// size says how much a round does.
type size struct {
	OneShots int // one after the other
	Burst    int // jobs of a throughput round
	InFlight int // of them at a time
	SpillMiB int
	Live     int // jobs of jobs-10000
	Trees    int
	Procs    int // of a tree, its main process counted in
	Idle     int // sessions
	Active   int // sessions
	Exits    int // of each active session
	Asks     int
}

// fullSize is performance.md §3; what it leaves open is as much as keeps a round
// at about a second, so that the whole takes a few minutes on two CPUs.
func fullSize() size {
	return size{
		OneShots: 200, Burst: 800, InFlight: 16, SpillMiB: 1024, Live: 10000,
		Trees: 100, Procs: 50, Idle: 1000, Active: 50, Exits: 8, Asks: 20000,
	}
}

// tinySize runs everything once in seconds; its figures mean nothing.
func tinySize() size {
	return size{
		OneShots: 3, Burst: 20, InFlight: 4, SpillMiB: 4, Live: 100,
		Trees: 3, Procs: 6, Idle: 10, Active: 3, Exits: 2, Asks: 100,
	}
}
