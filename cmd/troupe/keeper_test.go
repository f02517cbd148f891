package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

// keepersOf are the common keepers of a state directory: one, if there is any.
func keepersOf(state string) (pids []int) {
	dir := filepath.Join(state, keeperName)
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
// jobs, and them, and waits for that.
func endKeeper(state string) {
	common, detached := filepath.Join(state, keeperName), filepath.Join(state, detachedName)+"/"
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		args := strings.Split(string(text), "\x00")
		at := slices.IndexFunc(args, func(arg string) bool { return arg == common || strings.HasPrefix(arg, detached) })
		if len(args) < 4 || args[1] != "keeper" || at < 0 {
			continue
		}
		dir := args[at]
		pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
		lock, err := syscall.Open(filepath.Join(dir, "keeper.lock"), syscall.O_RDONLY|syscall.O_CLOEXEC, 0)
		_ = syscall.Kill(pid, syscall.SIGTERM)
		if err == nil {
			_ = syscall.Flock(lock, syscall.LOCK_EX) // which it holds for as long as it lives
			_ = syscall.Close(lock)
		}
	}
}
