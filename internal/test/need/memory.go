package need

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"
)

// Memory returns the directory of a new cgroup with a limit of memory, in bytes, or skips
// the test. The processes that the test moves there must have ended when it ends.
func Memory(t testing.TB, limit int) string {
	t.Helper()
	dir := limitedMemory(limit)
	Feature(t, dir != "", "a writable memory cgroup")
	t.Cleanup(func() {
		for late := time.Now().Add(time.Minute); os.Remove(dir) != nil; <-time.After(10 * time.Millisecond) { // ended processes leave it a moment later
			if time.Now().After(late) {
				t.Errorf("%s is not empty", dir)
				return
			}
		}
	})
	return dir
}

// limitedMemory makes a cgroup, of version 1 or 2; "": impossible.
func limitedMemory(limit int) string {
	member, _ := os.ReadFile("/proc/self/cgroup")
	for _, in := range []struct{ parent, file string }{
		{filepath.Join("/sys/fs/cgroup/memory", memberOf(string(member), "memory")), "memory.limit_in_bytes"},
		{ownCgroup(), "memory.max"},
	} {
		dir, err := os.MkdirTemp(in.parent, "troupe-need-")
		if in.parent == "" || err != nil {
			continue
		}
		file := filepath.Join(dir, in.file)
		if _, err := os.Stat(file); err == nil && os.WriteFile(file, []byte(strconv.Itoa(limit)), 0) == nil {
			return dir
		}
		_ = os.Remove(dir)
	}
	return ""
}

// memberOf returns the path of this process's cgroup of version 1 with a controller.
func memberOf(member, controller string) string {
	for line := range strings.Lines(member) {
		f := strings.SplitN(strings.TrimSpace(line), ":", 3)
		if len(f) == 3 && f[1] == controller {
			return f[2]
		}
	}
	return ""
}
