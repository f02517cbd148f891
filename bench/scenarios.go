package main

import (
	"fmt"
	"slices"
	"strings"
)

// line is one line of the report: a figure and its targets.
type line struct {
	suffix string // after the scenario's name: "-lib" is the library's mode
	metric string
	key    string // key in the values of a round
	side   side   // whose figure "ours" is
	what   judged // what is compared with the targets
	better sense
	must   float64
	aim    float64
}

// judged names what is compared with the targets of a line.
type judged string

const (
	byRatio judged = "ratio" // ours ÷ raw
	itself  judged = "figure"
	added   judged = "added" // ours − raw
	shown   judged = "shown" // nothing; the ratio is only shown
)

// scenario is one scenario of docs/performance.md.
type scenario struct {
	name  string
	sides []side // in the order of their turns; raw is the last
	lines []line
}

// side names what runs a scenario. Each side has a process of its own, since a node
// with OwnProcess reaps every child of its process.
type side string

const (
	own     side = "own"     // troupe, Options.OwnProcess
	library side = "library" // troupe in a process with other children
	held    side = "keeper"  // troupe with its jobs in a keeper
	served  side = "daemon"  // a daemon that runs its jobs itself, and a client
	whole   side = "whole"   // like troupe serve: a daemon with a journal, its jobs in a keeper
	agent   side = "mcp"     // troupe mcp over stdio, as an agent uses it, with a full daemon
	bare    side = "bare"    // without troupe: raw, with the cgroup and output of a job
	raw     side = "raw"     // without troupe: what a good Go programmer would write; for the cost of a daemon or agent, troupe without it
)

// librarySuffix marks the lines of a node in a host process, keeperSuffix those of a
// node whose jobs are in a keeper.
const (
	librarySuffix = "-lib"
	keeperSuffix  = "-keeper"
)

// scenarios lists the scenarios of docs/performance.md with its targets. One target for
// two figures applies to both. A full daemon with socket, journal and keeper is
// compared with the sum of its parts.
var scenarios = []scenario{
	{"cli-version", []side{own, raw}, []line{{"", "least ms", "least", own, byRatio, atMost, 2.5, 1.3}}},
	{"cli-ps", []side{own, raw}, []line{{"", "least ms", "least", own, byRatio, atMost, 2.7, 1.6}}},
	{"cli-run", []side{own, raw}, []line{{"", "least ms", "least", own, byRatio, atMost, 4.8, 2.5}}},
	{"cli-run-alone", []side{own, raw}, []line{{"", "least ms", "least", own, byRatio, atMost, 7.3, 3.5}}},
	{"faults", []side{own, raw}, []line{{"", "least ms", "least", own, byRatio, atMost, 1.1, 1.02}}}, // raw: a daemon without a plan, which is composed without faults
	{"oneshot", []side{own, library, raw}, []line{
		{"", "p50 ms", "p50", own, byRatio, atMost, 1.05, 0.98},
		{"", "p99 ms", "p99", own, byRatio, atMost, 1.15, 0.98},
		{librarySuffix, "p50 ms", "p50", library, byRatio, atMost, 1.05, 0.98},
		{librarySuffix, "p99 ms", "p99", library, byRatio, atMost, 1.15, 0.98},
	}},
	{"throughput", []side{own, library, raw}, []line{
		{"", "jobs/s", "rate", own, byRatio, atLeast, 1.00, 1.10},
		{librarySuffix, "jobs/s", "rate", library, byRatio, atLeast, 1.00, 1.10},
	}},
	{"shell-pty", []side{own, raw}, []line{
		{"", "p50 ms", "p50", own, byRatio, atMost, 1.5, 1},
		{"", "p99 ms", "p99", own, byRatio, atMost, 1.5, 1},
	}},
	{"shell-pipe", []side{own, raw}, []line{
		{"", "p50 ms", "p50", own, byRatio, atMost, 12, 5},
		{"", "p99 ms", "p99", own, byRatio, atMost, 12, 5},
	}},
	{"busy-1000", []side{own, raw}, []line{
		{"", "commands/s", "rate", own, byRatio, atLeast, 0.90, 0.97},
		{"", "p99 / p50", "spread", own, byRatio, atMost, 10, 10},
	}},
	{"spill", []side{own, raw}, []line{
		{"", "MB/s", "rate", own, byRatio, atLeast, 1.00, 1.35},
		{"", "sha256 wrong", "wrong", own, itself, atMost, 0, 0},
		{"", "RSS MiB", "rss", own, itself, atMost, 2, 1},
	}},
	{"pty-flood", []side{own, raw}, []line{
		{"", "MB/s", "rate", own, byRatio, atLeast, 0.90, 0.97},
		{"", "bytes lost", "lost", own, itself, atMost, 0, 0},
		{"", "sha256 wrong", "wrong", own, itself, atMost, 0, 0},
	}},
	{"idle-4000", []side{own, held}, []line{
		{"", "RSS KiB/job", "rss", own, itself, atMost, 8, 3},
		{"", "threads", "threads", own, itself, atMost, 32, 12},
		{"", "left", "left", own, itself, atMost, 0, 0},
		{keeperSuffix, "its KiB/job", "kept", held, itself, atMost, 8, 3},
		{keeperSuffix, "threads", "threads", held, itself, atMost, 32, 12},
		{keeperSuffix, "left", "left", held, itself, atMost, 0, 0},
	}},
	{"jobs-10000", []side{own, held, raw}, []line{
		{"", "start jobs/s", "rate", own, byRatio, atLeast, 0.90, 0.97},
		{"", "threads", "threads", own, itself, atMost, 64, 12},
		{"", "RSS KiB/job", "rss", own, itself, atMost, 12, 6},
		{"", "stop s", "stop", own, byRatio, atMost, 1.3, 1.05},
		{"", "left", "left", own, itself, atMost, 0, 0},
		{keeperSuffix, "start jobs/s", "rate", held, byRatio, atLeast, 0.90, 0.97},
		{keeperSuffix, "threads", "threads", held, itself, atMost, 64, 12},
		{keeperSuffix, "its KiB/job", "kept", held, itself, atMost, 12, 6},
		{keeperSuffix, "RSS KiB/job", "rss", held, itself, atMost, 12, 6},
		{keeperSuffix, "stop s", "stop", held, byRatio, atMost, 1.3, 1.05},
		{keeperSuffix, "left", "left", held, itself, atMost, 0, 0},
	}},
	{"crowd-bare", []side{bare, raw}, []line{ // the share of a cgroup and an output for each process
		{"", "start jobs/s", "rate", bare, shown, atLeast, 0, 0},
		{"", "stop s", "stop", bare, shown, atMost, 0, 0},
	}},
	{"cancel", []side{own, raw}, []line{
		{"", "stop s", "stop", own, byRatio, atMost, 1.25, 1.05},
		{"", "survivors", "left", own, itself, atMost, 0, 0},
	}},
	{"notify", []side{own, raw}, []line{
		{"", "p50 ms", "p50", own, byRatio, atMost, 1.5, 1.15},
		{"", "p99 ms", "p99", own, byRatio, atMost, 2, 1.3},
	}},
	{"wake", []side{own}, []line{
		{"", "p50 ms", "p50", own, itself, atMost, 5, 2},
		{"", "p99 ms", "p99", own, itself, atMost, 20, 5},
	}},
	{"top", []side{own}, []line{
		{"", "% of a CPU", "share", own, itself, atMost, 5, 3},
		{"", "key p50 ms", "p50", own, itself, atMost, 50, 20},
		{"", "key p99 ms", "p99", own, itself, atMost, 50, 30},
	}},
	{"ask", []side{own, raw}, []line{
		{"", "us", "time", own, byRatio, atMost, 8, 4},
		{"", "allocs", "allocs", own, itself, atMost, 12, 4},
	}},
	{"daemon", []side{served, whole, raw}, []line{
		{"", "us", "p50", served, added, atMost, 150, 80},
		{"-whole", "us", "p50", whole, added, atMost, 300, 160},
	}},
	{"keeper", []side{held, raw}, []line{
		{"", "us", "p50", held, added, atMost, 150, 80},
	}},
	{"mcp", []side{agent, raw}, []line{
		{"", "us", "p50", agent, added, atMost, 2000, 1000},
	}},
	{"adopt", []side{whole}, []line{
		{"", "ms", "adopted", whole, itself, atMost, 1000, 100},
		{"", "lost", "lost", whole, itself, atMost, 0, 0},
	}},
	{"history", []side{whole}, []line{
		{"", "ps ms", "ps", whole, shown, atMost, 0, 0},
		{"", "ps -a -n 20 ms", "newest", whole, shown, atMost, 0, 0},
		{"", "show ms", "show", whole, shown, atMost, 0, 0},
		{"", "ps -a s", "all", whole, itself, atMost, 0.8, 0.15},
		{"", "events s", "events", whole, itself, atMost, 3.2, 0.7},
		{"", "restart s", "restart", whole, itself, atMost, 0.45, 0.3},
		{"", "rm s", "rm", whole, itself, atMost, 2.3, 1},
		{"", "RSS MB", "rss", whole, itself, atMost, 140, 60},
		{"", "journal MiB", "full", whole, shown, atMost, 0, 0},
		{"", "... after rm", "left", whole, shown, atMost, 0, 0},
	}},
	{"history-tenfold", []side{whole, raw}, []line{ // a tenth of the figures of ten times as many jobs, beside those of history
		{"", "ps -a s", "all", whole, byRatio, atMost, 1.2, 1.2},
		{"", "restart s", "restart", whole, byRatio, atMost, 1.2, 1.2},
		{"", "rm s", "rm", whole, byRatio, atMost, 1.2, 1.2},
		{"", "RSS MB", "rss", whole, byRatio, atMost, 1.2, 1.2},
	}},
}

// choose returns the named scenarios, separated by commas; "" means all.
func choose(names string) ([]scenario, error) {
	if names == "" {
		return scenarios, nil
	}
	var chosen []scenario
	for name := range strings.SplitSeq(names, ",") {
		name = strings.TrimSpace(name)
		i := slices.IndexFunc(scenarios, func(s scenario) bool { return s.name == name })
		if i < 0 {
			return nil, fmt.Errorf("unknown scenario %q: use one of %s", name, scenarioNames())
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

// size is the amount of work of a round.
type size struct {
	Verbs      int // whole processes, one after the other
	OneShots   int // one after the other
	RoundTrips int // of a live shell, one after the other
	Burst      int // jobs of a throughput round
	InFlight   int // jobs at a time
	SpillMiB   int
	PtyMiB     int // of pty-flood
	Busy       int // live shells at a time
	BusyTrips  int // commands of each

	Terminals int // of idle-4000
	Live      int // jobs of jobs-10000
	Bare      int // processes of crowd-bare
	Trees     int
	Procs     int // of a tree, with its main process
	Idle      int // idle sessions
	Active    int // active sessions
	Exits     int // of each active session
	Wakes     int // jobs, one after the other
	Asks      int
	Commands  int // one after the other
	Adopted   int // jobs that outlive their daemon
	Ended     int // jobs of history

	Watched    int // live jobs below troupe top
	TopSeconds int // of its share of a processor
	Keys       int // typed into it
}

// fullSize returns the sizes of docs/performance.md. Others keep a round at about a
// second, so that all rounds take a few minutes on two CPUs.
func fullSize() size {
	return size{
		Verbs: 40, OneShots: 200, RoundTrips: 2000, Burst: 800, InFlight: 16, SpillMiB: 1024, PtyMiB: 256, Busy: 1000, BusyTrips: 10, Terminals: 4000, Live: 10000, Bare: 5000,
		Trees: 100, Procs: 50, Idle: 1000, Active: 50, Exits: 8, Wakes: 100, Asks: 20000,
		Commands: 200, Adopted: 1000, Ended: 10000, Watched: 1000, TopSeconds: 5, Keys: 50,
	}
}

// tinySize returns sizes that run everything once in seconds; the figures mean nothing.
func tinySize() size {
	return size{
		Verbs: 2, OneShots: 3, RoundTrips: 20, Burst: 20, InFlight: 4, SpillMiB: 4, PtyMiB: 2, Busy: 5, BusyTrips: 3, Terminals: 20, Live: 100, Bare: 50,
		Trees: 3, Procs: 6, Idle: 10, Active: 3, Exits: 2, Wakes: 3, Asks: 100,
		Commands: 3, Adopted: 20, Ended: 50, Watched: 20, TopSeconds: 1, Keys: 4,
	}
}
