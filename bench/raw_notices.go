//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// stamps returns the programs of the active sessions. Each pauses a little longer than
// the one before, so that their exits spread out.
func stamps(dir string, n int) ([]string, error) {
	programs := make([]string, n)
	for i := range n {
		programs[i] = filepath.Join(dir, fmt.Sprintf("stamp-%d", i))
		if err := writeStamp(programs[i], firstPause+time.Duration(i)*pauseStep); err != nil {
			return nil, err
		}
	}
	return programs, nil
}

// With these pauses 50 sessions exit about 330 times a second. The machine is busy, but
// the figure is not the length of a queue.
const (
	firstPause = 100 * time.Millisecond
	pauseStep  = 2100 * time.Microsecond
)

// rawNotices waits for processes by pidfd in Go's netpoller, with one goroutine each.
type rawNotices struct {
	programs []string
	exits    int
	null     int
}

func newRawNotices(_ context.Context, e assignment) (runner, error) {
	dir := filepath.Join(e.Dir, "raw-stamps")
	if err := os.Mkdir(dir, 0o755); err != nil {
		return nil, err
	}
	programs, err := stamps(dir, e.Size.Active)
	if err != nil {
		return nil, err
	}
	null, err := openNull()
	return &rawNotices{programs, e.Size.Exits, null}, err
}

func (r *rawNotices) round(ctx context.Context) (values, error) {
	var mu sync.Mutex
	var times []time.Duration
	err := inFlight(len(r.programs), len(r.programs), func(i int) error {
		for range r.exits {
			if err := ctx.Err(); err != nil {
				return err
			}
			late, err := r.one(r.programs[i])
			if err != nil {
				return err
			}
			mu.Lock()
			times = append(times, late)
			mu.Unlock()
		}
		return nil
	})
	return latencies(times), err
}

// one runs a stamp program and returns the delay after its exit.
func (r *rawNotices) one(program string) (time.Duration, error) {
	var pipe [2]int
	if err := unix.Pipe2(pipe[:], unix.O_CLOEXEC); err != nil {
		return 0, err
	}
	defer unix.Close(pipe[0])
	pidfd := -1
	null := uintptr(r.null)
	_, err := syscall.ForkExec(program, []string{program}, &syscall.ProcAttr{
		Env: os.Environ(), Files: []uintptr{null, uintptr(pipe[1]), null}, Sys: &syscall.SysProcAttr{Setsid: true, PidFD: &pidfd},
	})
	unix.Close(pipe[1])
	if err != nil {
		return 0, err
	}
	if err := waitPidfd(pidfd); err != nil {
		return 0, err
	}
	told := monotonic()
	output := make([]byte, stampSize)
	n, err := unix.Read(pipe[0], output)
	if err != nil {
		return 0, err
	}
	stamped, err := readStamp(output[:max(n, 0)])
	return time.Duration(told - stamped), err
}

// waitPidfd waits until the process has exited, and reaps it.
func waitPidfd(pidfd int) error {
	if err := unix.SetNonblock(pidfd, true); err != nil {
		return errors.Join(err, unix.Close(pidfd))
	}
	f := os.NewFile(uintptr(pidfd), "pidfd")
	defer f.Close()
	conn, err := f.SyscallConn()
	if err != nil {
		return err
	}
	var failed error
	err = conn.Read(func(fd uintptr) bool {
		for {
			failed = unix.Waitid(unix.P_PIDFD, int(fd), nil, unix.WEXITED, nil)
			if failed != unix.EINTR {
				return failed != unix.EAGAIN // not yet
			}
		}
	})
	return errors.Join(err, failed)
}

func (r *rawNotices) close() error { return unix.Close(r.null) }
