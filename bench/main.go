//go:build linux

package main

import (
	"cmp"
	"context"
	"errors"
	"flag"
	"fmt"
	"math"
	"os"
	"os/signal"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

func main() {
	if len(os.Args) > 1 {
		if role, known := roles[os.Args[1]]; known {
			os.Exit(role(os.Args[2:]))
		}
	}
	os.Exit(benchmark(os.Args[1:]))
}

// roles are the other roles in which this program runs itself.
var roles = map[string]func(args []string) int{
	workerRole: func([]string) int { return work(os.Stdin, os.Stdout) },
	treeRole:   growTree,
	keeperRole: keep,
	daemonRole: serveClients,
}

// minRounds is the number of rounds for a stable median on a noisy machine.
const minRounds = 7

// firstOwn is the first descriptor after the standard ones.
const firstOwn = 3

func benchmark(args []string) int {
	b := bench{out: os.Stdout, size: fullSize()}
	flags := flag.NewFlagSet("bench", flag.ContinueOnError)
	names := flags.String("scenarios", os.Getenv("BENCH"), "the scenarios to run, separated by commas; none: "+scenarioNames())
	rounds := flags.String("rounds", cmp.Or(os.Getenv("BENCH_ROUNDS"), strconv.Itoa(minRounds)), "how many rounds")
	file := flags.String("json", os.Getenv("BENCH_JSON"), "a file for all figures")
	flags.StringVar(&b.profile, "profile", os.Getenv("BENCH_PROFILE"), "a directory for CPU profiles")
	tiny := flags.Bool("tiny", false, "with tiny numbers, whose figures mean nothing")
	if err := flags.Parse(args); err != nil {
		return 2
	}
	var err error
	if b.rounds, err = strconv.Atoi(*rounds); err != nil || b.rounds < 1 {
		fmt.Fprintf(os.Stderr, "bench: invalid number of rounds %q: use 1 or more\n", *rounds)
		return 2
	}
	if b.scenarios, err = choose(*names); err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
		return 2
	}
	if *tiny {
		b.size = tinySize()
	}
	// A descriptor left open by the shell must not reach the workers: a library closes
	// all up to the highest in each child.
	if err := unix.CloseRange(firstOwn, math.MaxUint32, unix.CLOSE_RANGE_CLOEXEC); err != nil {
		fmt.Fprintln(os.Stderr, "bench: cannot keep open descriptors from the workers:", err)
	}
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	return b.finish(ctx, *file)
}

// finish runs the scenarios and writes the report.
func (b *bench) finish(ctx context.Context, file string) int {
	started := time.Now()
	rows, err := b.run(ctx)
	if file != "" {
		r := report{V: 1, Started: started, Took: time.Since(started).Seconds(), Rounds: b.rounds, Machine: thisMachine(), Rows: rows}
		err = errors.Join(err, r.write(file))
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "bench:", err)
	}
	if ctx.Err() != nil {
		return 130
	}
	return 0
}
