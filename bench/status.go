//go:build linux

package main

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// ownStatus reads a number of /proc/self/status: "Threads", or "VmRSS" in KiB.
func ownStatus(key string) float64 { return statusOf(os.Getpid(), key) }

// statusOf does the same for another process; 0 if there is none.
func statusOf(pid int, key string) float64 {
	text, err := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "status"))
	if err != nil {
		return 0
	}
	for line := range bytes.Lines(text) {
		if fields := bytes.Fields(line); len(fields) > 1 && string(fields[0]) == key+":" {
			n, _ := strconv.ParseFloat(string(fields[1]), 64)
			return n
		}
	}
	return 0
}

// calmDown waits, within a bound, until processes use no more CPU time than observing
// them takes. A pid of 0 is ignored.
func calmDown(ctx context.Context, pids ...int) {
	const look, bound, few = 50 * time.Millisecond, 10 * time.Second, 1 // ticks of 10 ms
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for before := ticks(pids); ; {
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return
		}
		now := ticks(pids)
		if now-before <= few {
			return
		}
		before = now
	}
}

// settle waits, within a bound, until the memory of processes is stable. A pid of 0 is
// ignored. An idle process releases memory within two seconds.
func settle(ctx context.Context, pids ...int) {
	const look, bound, long, little = 250 * time.Millisecond, 20 * time.Second, 2500 * time.Millisecond, 64 // KiB
	ctx, cancel := context.WithTimeout(ctx, bound)
	defer cancel()
	for was, since := memory(pids), time.Now(); time.Since(since) < long; {
		select {
		case <-time.After(look):
		case <-ctx.Done():
			return
		}
		if now := memory(pids); max(now-was, was-now) > little {
			was, since = now, time.Now()
		}
	}
}

// memory returns the memory of processes, in KiB.
func memory(pids []int) (sum float64) {
	for _, pid := range pids {
		sum += statusOf(pid, "VmRSS")
	}
	return sum
}

// ticks returns the CPU time of processes.
func ticks(pids []int) (n int64) {
	for _, pid := range pids {
		text, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		_, behind, _ := bytes.Cut(text, []byte(") "))
		if f := bytes.Fields(behind); len(f) > 12 {
			for _, used := range f[11:13] { // utime, stime
				t, _ := strconv.ParseInt(string(used), 10, 64)
				n += t
			}
		}
	}
	return n
}

// resetPeak resets VmHWM to the current memory.
func resetPeak() error { return os.WriteFile("/proc/self/clear_refs", []byte("5"), 0) }

// marked returns the processes with word among their arguments, without zombies.
func marked(word string) ([]int, error) {
	names, err := filepath.Glob("/proc/[0-9]*/cmdline")
	if err != nil {
		return nil, err
	}
	var pids []int
	for _, name := range names {
		text, err := os.ReadFile(name) // empty for a zombie
		if err != nil {
			continue // it has exited meanwhile
		}
		for arg := range bytes.SplitSeq(text, []byte{0}) {
			if string(arg) == word {
				pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(name)))
				pids = append(pids, pid)
				break
			}
		}
	}
	return pids, nil
}

// ownCgroup returns the directory of this process's cgroup v2.
func ownCgroup() (string, error) {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return "", err
	}
	member, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "", err
	}
	for line := range strings.Lines(string(member)) {
		path, v2 := strings.CutPrefix(strings.TrimSpace(line), "0::")
		if !v2 {
			continue
		}
		for line := range strings.Lines(string(mounts)) {
			// 30 23 0:26 /root /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw
			before, after, _ := strings.Cut(line, " - ")
			if fields := strings.Fields(before); len(fields) > 4 && strings.HasPrefix(after, "cgroup2 ") {
				return filepath.Join(fields[4], strings.TrimPrefix(path, strings.TrimRight(fields[3], "/"))), nil
			}
		}
	}
	return "", errors.New("no cgroup v2 is mounted")
}

// cgroupOfCgroups creates the parent cgroup of a raw side.
func cgroupOfCgroups() (string, error) {
	own, err := ownCgroup()
	if err != nil {
		return "", lacking{err.Error()}
	}
	base := filepath.Join(own, "troupe-bench-"+strconv.Itoa(os.Getpid()))
	if err := os.Mkdir(base, 0o755); err != nil {
		return "", lacking{"no writable cgroup v2: " + err.Error()}
	}
	if _, err := os.Stat(filepath.Join(base, "cgroup.kill")); err != nil {
		return "", errors.Join(lacking{"its cgroups cannot be killed as a whole: " + err.Error()}, os.Remove(base))
	}
	return base, nil
}

// monotonic returns CLOCK_MONOTONIC in nanoseconds, which all processes share.
func monotonic() int64 {
	var now unix.Timespec
	_ = unix.ClockGettime(unix.CLOCK_MONOTONIC, &now) // cannot fail for this clock
	return now.Nano()
}

// openNull opens /dev/null as a bare descriptor, for the loops that fork without
// package os.
func openNull() (int, error) { return unix.Open("/dev/null", unix.O_RDWR|unix.O_CLOEXEC, 0) }
