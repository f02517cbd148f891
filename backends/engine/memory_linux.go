package engine

import (
	"bytes"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

const (
	// supervisorMemory is what a keeper and a daemon may need each, in bytes.
	supervisorMemory = 128 << 20
	// leastRaise and mostOOM are in the unit of oom_score_adj, a thousandth of the memory.
	leastRaise = 100
	mostOOM    = 1000
)

// sharedMemory is the memory that this process shares with its jobs: that of its cgroup, or of
// the machine.
type sharedMemory struct {
	sys   Sys
	kills int    // a file with the count of OOM kills; -1: none
	total uint64 // bytes; at that, the kernel kills; set by measure
}

// newSharedMemory finds the count of OOM kills of the memory cgroup of this process: of version
// 1, or of version 2 with its parents.
func newSharedMemory(h *platform, own cgroupTexts) *sharedMemory {
	m := &sharedMemory{sys: h.sys, kills: -1}
	if dir, _ := own.dir("memory"); dir != "" {
		m.open(dir + "/memory.oom_control")
		return m
	}
	m.above(h, own, func(dir string) { m.open(dir + "/memory.events") })
	return m
}

// above calls f for the cgroup of this process and those above it, of version 2.
func (m *sharedMemory) above(h *platform, own cgroupTexts, f func(dir string)) {
	dir, err := cgroupRoot(h, own)
	var st unix.Stat_t
	for ; err == nil && h.sys.StatAt(unix.AT_FDCWD, dir+"/cgroup.procs", &st) == nil; dir = filepath.Dir(dir) {
		f(dir)
	}
}

// measure finds how much memory there is. A limit may be set in any cgroup above this process.
func (m *sharedMemory) measure(h *platform, own cgroupTexts) {
	m.total = ^uint64(0)
	var machine unix.Sysinfo_t
	if unix.Sysinfo(&machine) == nil {
		m.total = uint64(machine.Totalram) * uint64(machine.Unit)
	}
	if dir, _ := own.dir("memory"); dir != "" {
		text, _ := readFile(h.sys, unix.AT_FDCWD, dir+"/memory.stat")
		if n, ok := keyed(text, "hierarchical_memory_limit"); ok {
			m.total = min(m.total, uint64(n))
		}
		return
	}
	m.above(h, own, func(dir string) {
		text, _ := readFile(h.sys, unix.AT_FDCWD, dir+"/memory.max")
		if n, err := strconv.ParseUint(string(bytes.TrimSpace(text)), 10, 64); err == nil { // else it is "max"
			m.total = min(m.total, n)
		}
	})
}

// open keeps the file that counts OOM kills, unless there is one from a cgroup below.
func (m *sharedMemory) open(path string) {
	if m.kills >= 0 {
		return
	}
	if fd, err := m.sys.OpenAt(unix.AT_FDCWD, path, unix.O_RDONLY); err == nil {
		m.kills = fd
	}
	if m.oomKills() < 0 {
		m.close()
	}
}

func (m *sharedMemory) close() {
	if m.kills >= 0 {
		_ = m.sys.Close(m.kills)
		m.kills = -1
	}
}

// oomKills counts the OOM kills among all that share the memory; -1: unknown.
func (m *sharedMemory) oomKills() int64 {
	if m.kills < 0 {
		return -1
	}
	buf := make([]byte, 256)
	n, err := m.sys.Pread(m.kills, buf)
	if err != nil {
		return -1
	}
	if n, ok := keyed(buf[:n], "oom_kill"); ok {
		return n
	}
	return -1
}

// judge reports whether the kernel killed a job for lack of memory. The count is that of all
// jobs: it proves that none was killed. If it has grown, a KILL that nothing else explains was
// the kernel's.
func (m *sharedMemory) judge(end messages.ExitStatus, stopped bool, before int64) messages.Tristate {
	now := m.oomKills()
	switch {
	case before < 0 || now < 0:
		return messages.Unknown
	case now == before:
		return messages.No
	case end.Shell() == killedStatus && !stopped:
		return messages.Yes
	}
	return messages.Unknown
}

// killedStatus is how a shell reports KILL.
const killedStatus = 128 + int(unix.SIGKILL)

// raise returns how far above this process jobs must be so that the kernel ends every job
// before it. Further above, jobs would end before a program that takes all the memory.
func (m *sharedMemory) raise() int {
	return int(min(max(mostOOM*supervisorMemory/max(m.total, 1), leastRaise), mostOOM))
}

// findJobOOM sets the oom_score_adj of jobs: that of the user, or more than that of this process.
func (h *platform) findJobOOM(cgroup cgroupTexts) {
	users := h.engine.opt.OOMScoreAdj
	if users == nil {
		return
	}
	h.memory.measure(h, cgroup)
	own, err := readOOM(h.sys, h.self.pid)
	if err != nil {
		return
	}
	if jobs := min(max(*users, own+h.memory.raise()), mostOOM); jobs != own {
		h.jobOOM = jobs
		h.jobOOMText = []byte(strconv.Itoa(jobs))
	}
}

func readOOM(sys Sys, pid int) (int, error) {
	text, err := readFile(sys, unix.AT_FDCWD, procPath(pid, "oom_score_adj"))
	if err != nil {
		return 0, err
	}
	return strconv.Atoi(string(bytes.TrimSpace(text)))
}

// setJobOOM sets the oom_score_adj of a process of a job. That of a set-user-ID program belongs
// to root.
func (h *platform) setJobOOM(pid int) {
	if len(h.jobOOMText) == 0 {
		return
	}
	fd, err := h.sys.OpenAt(unix.AT_FDCWD, procPath(pid, "oom_score_adj"), unix.O_WRONLY)
	if err != nil {
		return
	}
	_, _ = h.sys.Write(fd, h.jobOOMText)
	_ = h.sys.Close(fd)
}
