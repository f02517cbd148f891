package doctor

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"

	"troupe/backends/engine"
)

// limit is a limit of the system that commands can reach.
type limit struct {
	Name    string `json:"name"`
	Value   string `json:"value"` // as the system reports it, else "unknown"
	Meaning string `json:"meaning"`
}

// unlimited is the printed value of an absent limit.
const unlimited = "unlimited"

func listLimits() []limit {
	return []limit{
		openFiles(),
		{"processes of the user", rlimit(unix.RLIMIT_NPROC), "soft/hard"},
		{"processes of the cgroup", cgroupPids(), "pids.max of the nearest cgroup that sets it"},
		{"process ids", proc("kernel/pid_max"), "of the whole machine"},
		{"terminals", proc("kernel/pty/max"), fmt.Sprintf("of the whole machine; %s are in use, and jobs cannot use the last %d", proc("kernel/pty/nr"), engine.ReservedTerminals)},
		{"pipe buffers", proc("fs/pipe-user-pages-soft"), "pages of an unprivileged user; above this, new pipes are small"},
		{"size of a pipe", proc("fs/pipe-max-size"), "bytes, for an unprivileged user"},
		{"watches", proc("fs/inotify/max_user_instances"), "inotify instances of the user"},
	}
}

func rlimit(which int) string {
	var l unix.Rlimit
	if unix.Getrlimit(which, &l) != nil {
		return "unknown"
	}
	return bound(uint64(l.Cur)) + "/" + bound(uint64(l.Max))
}

func bound(n uint64) string {
	if n >= 1<<63-1 {
		return unlimited
	}
	return strconv.FormatUint(n, 10)
}

// proc reads a kernel setting.
func proc(name string) string {
	b, err := os.ReadFile(filepath.Join("/proc/sys", name))
	if err != nil {
		return "unknown"
	}
	return strings.TrimSpace(string(b))
}

// cgroupPids returns pids.max of this process's cgroup or its nearest ancestor with one. It
// searches hierarchies at their usual mount points.
func cgroupPids() string {
	b, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return "unknown"
	}
	for line := range strings.Lines(string(b)) {
		fields := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(fields) != 3 || fields[1] != "" && fields[1] != "pids" {
			continue
		}
		root := filepath.Join("/sys/fs/cgroup", fields[1])
		for dir := fields[2]; ; dir = filepath.Dir(dir) {
			if max, err := os.ReadFile(filepath.Join(root, dir, "pids.max")); err == nil {
				return strings.TrimSpace(strings.Replace(string(max), "max", unlimited, 1))
			}
			if dir == "/" || dir == "." {
				break
			}
		}
	}
	return unlimited
}
