package need

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// Cgroup returns a directory of the cgroup v2 hierarchy in which this user may create
// killable cgroups, or skips the test. It does not ask the engine, whose answer is
// under test.
func Cgroup(t testing.TB) string {
	t.Helper()
	dir := ownCgroup()
	Feature(t, dir != "" && killable(dir), "a writable cgroup v2")
	return dir
}

// ownCgroup returns the directory of this process's cgroup, "" if there is none.
func ownCgroup() string {
	mounts, err := os.ReadFile("/proc/self/mountinfo")
	if err != nil {
		return ""
	}
	member, err := os.ReadFile("/proc/self/cgroup")
	if err != nil {
		return ""
	}
	return cgroupDir(string(mounts), string(member))
}

// cgroupDir finds the directory in the text of the two /proc files.
func cgroupDir(mounts, member string) string {
	for line := range strings.Lines(member) {
		path, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "0::")
		if !ok {
			continue
		}
		for line := range strings.Lines(mounts) {
			// 30 23 0:26 /root /sys/fs/cgroup rw,nosuid shared:9 - cgroup2 cgroup2 rw
			before, after, _ := strings.Cut(line, " - ")
			fields := strings.Fields(before)
			if len(fields) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
				continue
			}
			return filepath.Join(fields[4], strings.TrimPrefix(path, strings.TrimRight(fields[3], "/")))
		}
	}
	return ""
}

// killable creates a cgroup, looks for cgroup.kill, and removes it.
func killable(dir string) bool {
	child, err := os.MkdirTemp(dir, "troupe-need-")
	if err != nil {
		return false
	}
	defer os.Remove(child)
	_, err = os.Stat(filepath.Join(child, "cgroup.kill"))
	return err == nil
}
