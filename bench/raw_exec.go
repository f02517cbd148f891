//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"sync/atomic"
	"syscall"
	"time"
)

// nothing is the command of a one-shot.
const nothing = "true"

// execBash runs a text as a Go user does: with os/exec, its output through a pipe into
// memory, and a process session of its own.
func execBash(text string) (string, error) {
	cmd := exec.Command("bash", "--norc", "--noprofile", "-c", text)
	var output bytes.Buffer
	cmd.Stdout, cmd.Stderr = &output, &output
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true}
	err := cmd.Run()
	return output.String(), err
}

// rawOneShots runs one command after the other.
type rawOneShots struct{ n int }

func newRawOneShots(_ context.Context, e assignment) (runner, error) {
	return rawOneShots{e.Size.OneShots}, nil
}

func (r rawOneShots) round(ctx context.Context) (values, error) {
	times := make([]time.Duration, 0, r.n)
	for range r.n {
		if err := ctx.Err(); err != nil {
			return nil, err
		}
		start := time.Now()
		if _, err := execBash(nothing); err != nil {
			return nil, err
		}
		times = append(times, time.Since(start))
	}
	return latencies(times), nil
}

func (r rawOneShots) close() error { return nil }

// rawBurst runs commands with some in flight.
type rawBurst struct{ n, workers int }

func newRawBurst(_ context.Context, e assignment) (runner, error) {
	return rawBurst{e.Size.Burst, e.Size.InFlight}, nil
}

func (r rawBurst) round(ctx context.Context) (values, error) {
	start := time.Now()
	err := inFlight(r.workers, r.n, func(int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		_, err := execBash(nothing)
		return err
	})
	return values{"rate": perSecond(r.n, time.Since(start))}, err
}

func (r rawBurst) close() error { return nil }

// inFlight calls do n times, workers at a time, until one call fails.
func inFlight(workers, n int, do func(i int) error) error {
	var next atomic.Int64
	var wait sync.WaitGroup
	errs := make([]error, workers)
	for w := range workers {
		wait.Go(func() {
			for i := int(next.Add(1)) - 1; i < n; i = int(next.Add(1)) - 1 {
				if errs[w] = do(i); errs[w] != nil {
					next.Store(int64(n))
				}
			}
		})
	}
	wait.Wait()
	return errors.Join(errs...)
}

// rawSpill lets the shell write a command's output into a file.
type rawSpill struct {
	content content
	file    string
}

func newRawSpill(_ context.Context, e assignment) (runner, error) {
	c, err := makeContent(filepath.Join(e.Dir, "raw-content"), e.Size.SpillMiB)
	return rawSpill{c, filepath.Join(e.Dir, "raw-spill")}, err
}

func (r rawSpill) round(context.Context) (values, error) {
	start := time.Now()
	if output, err := execBash(fmt.Sprintf("%s | cat > '%s'", r.content.producer(), r.file)); err != nil {
		return nil, fmt.Errorf("%w: %s", err, output)
	}
	took := time.Since(start)
	info, err := os.Stat(r.file)
	if err != nil {
		return nil, err
	}
	if info.Size() != r.content.bytes() {
		return nil, fmt.Errorf("the file has %d bytes, want %d", info.Size(), r.content.bytes())
	}
	return values{"rate": perSecond(int(info.Size()), took) / 1e6}, os.Remove(r.file)
}

func (r rawSpill) close() error { return nil }
