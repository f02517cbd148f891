//go:build linux

package main

import (
	"context"
	"errors"
	"os"
	"runtime"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// crowdArgv returns the argv of a process that lives until it is killed.
func crowdArgv(mark string) []string { return []string{sleepProgram, mark} }

// rawCrowd starts processes without package os, with one loop for each CPU, which is
// faster than a single loop. It kills them one by one.
type rawCrowd struct {
	n      int
	null   int
	env    []string
	rounds int
}

func newRawCrowd(_ context.Context, e assignment) (runner, error) { return rawCrowdOf(e.Size.Live) }

func newRawBesideBare(_ context.Context, e assignment) (runner, error) {
	return rawCrowdOf(e.Size.Bare)
}

func rawCrowdOf(n int) (runner, error) {
	null, err := openNull()
	return &rawCrowd{n: n, null: null, env: os.Environ()}, err
}

func (r *rawCrowd) round(ctx context.Context) (values, error) {
	r.rounds++
	mark := sleepMark(r.rounds)
	var mu sync.Mutex
	pids := make([]int, 0, r.n)
	defer func() { killAll(pids) }()
	before, start := ownStatus("VmRSS"), time.Now()
	err := inFlight(runtime.NumCPU(), r.n, func(int) error {
		if err := ctx.Err(); err != nil {
			return err
		}
		pid, err := r.fork(mark)
		if err == nil {
			mu.Lock()
			pids = append(pids, pid)
			mu.Unlock()
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	v := values{
		"rate": perSecond(r.n, time.Since(start)), "threads": ownStatus("Threads"),
		"rss": (ownStatus("VmRSS") - before) / float64(r.n),
	}
	start = time.Now()
	killAll(pids)
	v["stop"] = time.Since(start).Seconds()
	pids = nil
	left, err := marked(mark)
	v["left"] = float64(len(left))
	return v, err
}

func (r *rawCrowd) fork(mark string) (int, error) {
	null := uintptr(r.null)
	argv := crowdArgv(mark)
	return syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Env: r.env, Files: []uintptr{null, null, null}, Sys: &syscall.SysProcAttr{Setsid: true},
	})
}

// killAll kills children and waits for all of them.
func killAll(pids []int) {
	for _, pid := range pids {
		_ = unix.Kill(pid, unix.SIGKILL) // a child exists until it is reaped
	}
	for _, pid := range pids {
		reap(pid)
	}
}

// reap waits for one child, -1 for any, and reports whether there was one.
func reap(pid int) bool {
	for {
		_, err := syscall.Wait4(pid, nil, 0, nil)
		if !errors.Is(err, syscall.EINTR) {
			return err == nil
		}
	}
}

func (r *rawCrowd) close() error { return unix.Close(r.null) }
