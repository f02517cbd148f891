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

	"troupe/messages"
)

// busy runs many live shells on terminals, each with its next command right after the
// last. It measures all of them together, and how far the slowest command lags.
type busy struct {
	sessions []trips
	n        int      // commands of each in a round
	ends     notices  // ends of commands of our side
	ourNode  *ourNode // nil: raw shells
}

// trips is one shell.
type trips interface {
	// trip runs one command to its end.
	trip(ctx context.Context) error
	close() error
}

func newOurBusy(ctx context.Context, e assignment) (runner, error) {
	if most := terminalLimit(); most < e.Size.Busy {
		return nil, lacking{fmt.Sprintf("kernel.pty.max is %d", most)}
	}
	h, err := openNode(ctx, e)
	if err != nil {
		return nil, err
	}
	ends, err := h.subscribe(ctx)
	b := &busy{n: e.Size.BusyTrips, ends: ends, ourNode: h}
	for i := range e.Size.Busy {
		b.sessions = append(b.sessions, liveShell(h, i, messages.BackendShellPTY))
	}
	return b, errors.Join(err, b.warmUp())
}

func newRawBusy(_ context.Context, e assignment) (runner, error) {
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

// warmUp starts every shell before the first round.
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

// all runs n commands in each shell, all shells at a time.
func (b *busy) all(ctx context.Context, n int) ([]time.Duration, error) {
	var wait sync.WaitGroup
	heard := make(chan error, 1)
	go func() { heard <- b.hear(ctx, len(b.sessions)*n) }()
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
	err := errors.Join(errs...)
	if err == nil {
		err = <-heard
	}
	return times, err
}

// hear waits for the ends of n commands of our side.
func (b *busy) hear(ctx context.Context, n int) error {
	for b.ourNode != nil && n > 0 {
		if _, err := b.ends.next(ctx); err != nil {
			return err
		}
		n--
	}
	return nil
}

func (b *busy) close() error {
	if b.ourNode != nil {
		return b.ourNode.close()
	}
	var errs []error
	for _, s := range b.sessions {
		errs = append(errs, s.close())
	}
	return errors.Join(errs...)
}

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

func (l inLiveShell) trip(ctx context.Context) error {
	_, err := l.command(ctx)
	return err
}

// close implements trips: the node ends the shell.
func (inLiveShell) close() error { return nil }
