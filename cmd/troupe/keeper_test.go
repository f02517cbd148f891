package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
)

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
