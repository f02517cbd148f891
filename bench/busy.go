//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends/shell"
	"troupe/messages"
)

// busy is many live shells on terminals, each of which has its next command as soon as
// it has ended one. What is judged is all of them together, and whether the slowest
// command is far behind the others.
type busy struct {
	sessions []trips
	n        int // commands of each in a round
}

// trips are one shell's.
type trips interface {
	// trip runs one command, from the request to its end.
	trip(ctx context.Context) error
	close() error
}

func newOurBusy(_ context.Context, e errand) (runner, error) {
	if most := terminalLimit(); most < e.Size.Busy {
		return nil, lacking{fmt.Sprintf("kernel.pty.max is %d", most)}
	}
	how := shell.Options{Terminal: messages.Terminal{Rows: messages.DefaultRows, Cols: messages.DefaultCols}}
	first, err := ourShellOn(e, how)
	b := &busy{n: e.Size.BusyTrips, sessions: []trips{first}}
	for i := 1; err == nil && i < e.Size.Busy; i++ {
		s := &ourShell{engine: first.engine, store: first.store, facts: make(chan messages.ProcessFact, 16), series: i, beside: true}
		if err = s.open(e, how); err == nil {
			b.sessions = append(b.sessions, s)
		}
	}
	return b, errors.Join(err, b.warmUp())
}

func newRawBusy(_ context.Context, e errand) (runner, error) {
	b := &busy{n: e.Size.BusyTrips}
	var err error
	for i := 0; err == nil && i < e.Size.Busy; i++ {
		var s *rawShell
		if s, err = rawShellOn(exec.Command("bash", "--norc", "--noprofile", "--noediting", "-i"), unix.ECHO); err == nil {
			b.sessions = append(b.sessions, s)
		}
	}
	return b, errors.Join(err, b.warmUp())
}

// warmUp has every shell begun before the first round.
func (b *busy) warmUp() error {
	_, err := b.all(context.Background(), 1)
	return err
}

func (b *busy) round(ctx context.Context) (values, error) {
	start := time.Now()
	times, err := b.all(ctx, b.n)
	took := time.Since(start)
	if err != nil {
		return nil, err
	}
	v := latencies(times)
	return values{"rate": perSecond(len(times), took), "spread": v["p99"] / v["p50"]}, nil
}

// all has each shell run n commands, all shells at a time.
func (b *busy) all(ctx context.Context, n int) ([]time.Duration, error) {
	var wait sync.WaitGroup
	times, errs := make([]time.Duration, len(b.sessions)*n), make([]error, len(b.sessions))
	for i, s := range b.sessions {
		wait.Go(func() {
			for k := 0; k < n && errs[i] == nil; k++ {
				start := time.Now()
				errs[i] = s.trip(ctx)
				times[i*n+k] = time.Since(start)
			}
		})
	}
	wait.Wait()
	return times, errors.Join(errs...)
}

// close closes the first one last: the engine is its.
func (b *busy) close() error {
	var errs []error
	for i := len(b.sessions) - 1; i >= 0; i-- {
		errs = append(errs, b.sessions[i].close())
	}
	return errors.Join(errs...)
}

// trip implements trips.
func (r *rawShell) trip(ctx context.Context) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	r.next++
	if _, err := fmt.Fprintf(r.in, ":\necho __DONE_%d_$?\n", r.next); err != nil {
		return err
	}
	return r.until(fmt.Sprintf("__DONE_%d_0%s", r.next, r.end))
}

// trip implements trips.
func (o *ourShell) trip(ctx context.Context) error {
	exited, proc, err := o.command(ctx)
	if err != nil {
		return err
	}
	proc.Settle(exited.Last)
	return o.store.Remove(o.id())
}
