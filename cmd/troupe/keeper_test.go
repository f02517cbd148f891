package main

import (
	"errors"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"troupe/internal/cli/config"
)

// keepersOf are the common keepers of a state directory: one, if there is any.
func keepersOf(state string) (pids []int) {
	dir := filepath.Join(state, config.KeeperName)
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		args := strings.Split(string(text), "\x00")
		if len(args) < 4 || args[1] != "keeper" || !slices.Contains(args, dir) {
			continue
		}
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		pids = append(pids, pid)
	}
	return slices.DeleteFunc(slices.Clone(pids), func(pid int) bool { // a job that it forks now looks as it does
		stat, _ := os.ReadFile(filepath.Join("/proc", strconv.Itoa(pid), "stat"))
		after := strings.Fields(string(stat[strings.LastIndexByte(string(stat), ')')+1:]))
		if len(after) < 2 {
			return true // it has gone
		}
		parent, _ := strconv.Atoi(after[1])
		return slices.Contains(pids, parent)
	})
}

// endKeeper ends the keepers of a state directory, which a test may have left with
// jobs, and them, and waits for that. There may be one that has just been started, and
// one that finds the other and goes: which of them holds the lock is not known.
func endKeeper(state string) {
	reported := map[int]bool{}
	tick := time.NewTicker(5 * time.Millisecond)
	defer tick.Stop()
	for late := time.Now().Add(tooLong); time.Now().Before(late); <-tick.C { // no event tells of the end of another's child
		all, locked := keepersIn(state)
		for _, pid := range all {
			if !reported[pid] {
				reported[pid] = true
				_ = syscall.Kill(pid, syscall.SIGTERM)
			}
		}
		if len(all) == 0 && !locked {
			return
		}
	}
}

// keepersIn are the keepers of a state directory, and of the detached jobs there, and
// whether the lock of one is locked: it is for as long as that lives.
func keepersIn(state string) (pids []int, locked bool) {
	common, detached := filepath.Join(state, config.KeeperName), filepath.Join(state, config.DetachedName)+"/"
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		args := strings.Split(string(text), "\x00")
		at := slices.IndexFunc(args, func(arg string) bool { return arg == common || strings.HasPrefix(arg, detached) })
		if len(args) >= 4 && args[1] == "keeper" && at >= 0 {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			pids = append(pids, pid)
		}
	}
	locks, _ := filepath.Glob(filepath.Join(detached, "*", "keeper.lock"))
	for _, path := range append(locks, filepath.Join(common, "keeper.lock")) {
		if lock, err := syscall.Open(path, syscall.O_RDONLY|syscall.O_CLOEXEC, 0); err == nil {
			locked = locked || errors.Is(syscall.Flock(lock, syscall.LOCK_EX|syscall.LOCK_NB), syscall.EWOULDBLOCK)
			_ = syscall.Close(lock)
		}
	}
	return pids, locked
}
