package engine

import (
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// foreignProcfs is a Sys for a process whose /proc is missing or shows another pid
// namespace. It hides all processes there, since their numbers mean other processes
// here.
type foreignProcfs struct{ Sys }

func (s foreignProcfs) OpenAt(dir int, path string, flags int) (int, error) {
	if below, ok := strings.CutPrefix(path, "/proc"); ok && flags&unix.O_PATH == 0 && isTable(below) {
		return -1, unix.ENOENT
	}
	return s.Sys.OpenAt(dir, path, flags)
}

// isTable reports whether a path below /proc belongs to processes.
func isTable(path string) bool {
	return path == "" || len(path) > 1 && path[1] >= '0' && path[1] <= '9'
}

// noProcesses says why /proc does not show our processes; "": it does.
func noProcesses() string {
	self, err := os.Readlink("/proc/self")
	switch {
	case err != nil:
		return "no proc is mounted on /proc"
	case self != strconv.Itoa(os.Getpid()):
		return "the proc on /proc is that of another pid namespace"
	}
	return ""
}
