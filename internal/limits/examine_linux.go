package limits

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"time"

	"golang.org/x/sys/unix"
)

// bound is a limit that a process cannot raise.
type bound struct {
	resource int
	name     string
	option   string // of ulimit
	unit     func(uint64) string
	needed   uint64 // below it the process would end
	effect   string
}

// bounds are the limits of a process. An idle daemon maps 2.4 GiB, of which 0.2 GiB are
// data. Its journals need some MiB. It takes a second of CPU time for a thousand jobs.
var bounds = []bound{
	{unix.RLIMIT_CPU, "CPU time", "-t", seconds, 60, "the kernel ends the process at this limit"},
	{unix.RLIMIT_FSIZE, "the size of files", "-f", size, 64 << 20, "longer outputs and journals cannot be written"},
	{unix.RLIMIT_AS, "virtual memory", "-v", size, 4 << 30, "a process that needs more ends"},
	{unix.RLIMIT_DATA, "data memory", "-d", size, 512 << 20, "a process that needs more ends"},
}

const (
	// threadsNeeded is how many threads daemon and keeper need together. threadsFew is the
	// limit above which they are not counted.
	threadsNeeded = 160
	threadsFew    = 1 << 12
)

func seconds(n uint64) string { return (time.Duration(n) * time.Second).String() }

func size(n uint64) string {
	if n < 1<<20 {
		return fmt.Sprintf("%d KiB", n>>10)
	}
	return fmt.Sprintf("%d MiB", n>>20)
}

// Examine returns what limits a process of this user.
func Examine(pid int) []Finding {
	var found []Finding
	for _, b := range bounds {
		var l unix.Rlimit
		if unix.Prlimit(pid, b.resource, nil, &l) != nil || l.Max == unix.RLIM_INFINITY {
			continue
		}
		found = append(found, Finding{
			Text:   fmt.Sprintf("the limit of %s is %s (ulimit %s): %s", b.name, b.unit(l.Max), b.option, b.effect),
			Lethal: l.Max < b.needed,
		})
	}
	return append(append(found, examineThreads(pid)...), examinePriority(pid)...)
}

// examineThreads counts the threads of this user if there may be few. The kernel does not limit
// root.
func examineThreads(pid int) []Finding {
	var l unix.Rlimit
	if os.Getuid() == 0 || unix.Prlimit(pid, unix.RLIMIT_NPROC, nil, &l) != nil || l.Max >= threadsFew {
		return nil
	}
	used := userThreads()
	return []Finding{{
		Text:   fmt.Sprintf("the limit of processes and threads is %d (ulimit -u), and %d are in use: the jobs of all clients share the rest", l.Max, used),
		Lethal: l.Max < used+threadsNeeded,
	}}
}

// userThreads counts the threads of the processes of this user.
func userThreads() (n uint64) {
	entries, _ := os.ReadDir("/proc")
	for _, e := range entries {
		if _, err := strconv.Atoi(e.Name()); err != nil {
			continue
		}
		status, _ := os.ReadFile("/proc/" + e.Name() + "/status")
		if uid, ok := field(status, "Uid"); ok && uid == uint64(os.Getuid()) {
			threads, _ := field(status, "Threads")
			n += threads
		}
	}
	return n
}

// field returns the first number of a line of /proc/PID/status.
func field(status []byte, name string) (uint64, bool) {
	for line := range bytes.Lines(status) {
		if rest, ok := bytes.CutPrefix(line, []byte(name+":")); ok && len(bytes.Fields(rest)) > 0 {
			n, err := strconv.ParseUint(string(bytes.Fields(rest)[0]), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}

// policies are the names of the scheduling policies other than the usual one.
var policies = map[uint32]string{1: "FIFO", 2: "round robin", 3: "batch", 5: "idle"}

// examinePriority reports a nice value and a scheduling policy, which all jobs inherit.
func examinePriority(pid int) (found []Finding) {
	if p, err := unix.Getpriority(unix.PRIO_PROCESS, pid); err == nil && p < 20 { // 20 less the nice value
		found = append(found, Finding{Text: fmt.Sprintf("the nice value is %d, also of the jobs of all clients", 20-p)})
	}
	if a, err := unix.SchedGetAttr(pid, 0); err == nil && policies[a.Policy] != "" {
		found = append(found, Finding{Text: fmt.Sprintf("the scheduling policy is %s, also of the jobs of all clients", policies[a.Policy])})
	}
	return found
}

// Files returns how many descriptors a process of this user may have, and how many it has.
func Files(pid int) (limit uint64, open int, known bool) {
	var l unix.Rlimit
	names, err := os.ReadDir("/proc/" + strconv.Itoa(pid) + "/fd")
	if err != nil || unix.Prlimit(pid, unix.RLIMIT_NOFILE, nil, &l) != nil {
		return 0, 0, false
	}
	return l.Cur, len(names), true
}
