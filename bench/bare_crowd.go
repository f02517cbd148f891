//go:build linux

package main

import (
	"context"
	"errors"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// bareCrowd is rawCrowd with what isolates a job: each process has a cgroup of its own
// and writes into a polled pipe. It has no log, no exit status and no notices.
type bareCrowd struct {
	n      int
	null   int
	base   string // parent of the cgroups
	poll   int
	rounds int
}

// bareProcess is one process of a bareCrowd.
type bareProcess struct {
	pid, out int
	dir      string
}

func newBareCrowd(_ context.Context, e assignment) (runner, error) {
	base, err := cgroupOfCgroups()
	if err != nil {
		return nil, err
	}
	b := &bareCrowd{n: e.Size.Bare, base: base}
	b.null, err = openNull()
	var more error
	b.poll, more = unix.EpollCreate1(unix.EPOLL_CLOEXEC)
	return b, errors.Join(err, more)
}

func (b *bareCrowd) round(ctx context.Context) (values, error) {
	b.rounds++
	mark := sleepMark(b.rounds)
	all := make([]bareProcess, b.n)
	defer func() { b.end(all) }() // after a failed round
	start := time.Now()
	err := inFlight(runtime.NumCPU(), b.n, func(i int) (err error) {
		if err = ctx.Err(); err == nil {
			all[i], err = b.start(i, mark)
		}
		return err
	})
	if err != nil {
		return nil, err
	}
	v := values{"rate": perSecond(b.n, time.Since(start))}
	start = time.Now()
	b.kill(all)
	v["stop"] = time.Since(start).Seconds()
	return v, nil
}

func (b *bareCrowd) start(i int, mark string) (p bareProcess, err error) {
	p.dir = filepath.Join(b.base, strconv.Itoa(i))
	if err = unix.Mkdir(p.dir, 0o755); err != nil {
		return bareProcess{}, err
	}
	cgroup, err := unix.Open(p.dir, unix.O_PATH|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
	if err != nil {
		return p, err
	}
	defer unix.Close(cgroup)
	var pipe [2]int
	if err = unix.Pipe2(pipe[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return p, err
	}
	defer unix.Close(pipe[1])
	p.out = pipe[0]
	if err = unix.EpollCtl(b.poll, unix.EPOLL_CTL_ADD, p.out, &unix.EpollEvent{Events: unix.EPOLLIN, Fd: int32(p.out)}); err != nil {
		return p, err
	}
	argv := crowdArgv(mark)
	p.pid, err = syscall.ForkExec(argv[0], argv, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{uintptr(b.null), uintptr(pipe[1]), uintptr(pipe[1])},
		Sys: &syscall.SysProcAttr{Setsid: true, UseCgroupFD: true, CgroupFD: cgroup},
	})
	return p, err
}

// kill kills the cgroups and waits for the processes.
func (b *bareCrowd) kill(all []bareProcess) {
	for _, p := range all {
		if p.pid > 0 {
			_ = os.WriteFile(filepath.Join(p.dir, "cgroup.kill"), []byte("1"), 0)
		}
	}
	for i, p := range all {
		if p.pid > 0 {
			reap(p.pid)
			all[i].pid = 0
		}
	}
}

// end releases all resources.
func (b *bareCrowd) end(all []bareProcess) {
	b.kill(all)
	for _, p := range all {
		if p.out > 0 {
			_ = unix.Close(p.out)
		}
		if p.dir != "" {
			_ = os.Remove(p.dir)
		}
	}
}

func (b *bareCrowd) close() error {
	return errors.Join(unix.Close(b.poll), unix.Close(b.null), os.Remove(b.base))
}
