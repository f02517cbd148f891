package keeper

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Escaped returns the processes below the keeper of a directory that have left the trees of
// its jobs, and whose parents have not: they are in no cgroup of a job. Without cgroups they
// are the orphans in no process session of a job that have dropped its environment. It asks no
// process.
func Escaped(path string) []Escapee {
	dir, err := openDir(path, false)
	if err != nil {
		return nil
	}
	defer dir.Close()
	entries, _, err := readJournal(dir)
	if err != nil {
		return nil
	}
	left := tableOf(entries)
	pid := Holder(path)
	if left.opened == nil || pid == 0 {
		return nil
	}
	s := escapeeScan{of: left.opened.Cgroup, mains: map[int]uint64{}}
	for _, p := range left.jobs {
		s.mains[p.started.PID] = p.started.StartTime
	}
	s.below(pid, maxDepth)
	return s.found
}

// maxDepth bounds the depth of process trees.
const maxDepth = 64

// escapeeScan is a walk down the children of a keeper.
type escapeeScan struct {
	of    string         // directory of the cgroups of its jobs; "": it uses none
	mains map[int]uint64 // start times of its jobs' main processes
	found []Escapee
	looks int // at processes in an exec
}

func (s *escapeeScan) below(pid, depth int) {
	tasks, _ := filepath.Glob(fmt.Sprintf("/proc/%d/task/*/children", pid))
	for _, task := range tasks {
		text, _ := os.ReadFile(task)
		for _, f := range strings.Fields(string(text)) {
			child, _ := strconv.Atoi(f)
			switch {
			case s.escaped(child):
				s.found = append(s.found, Escapee{PID: child, Command: string(bytes.TrimSpace(procFile(child, "comm")))})
			case s.of != "" && depth > 0:
				s.below(child, depth-1)
			}
		}
	}
}

// escaped reports whether a process has left the trees of the jobs. One that begins its exit
// meanwhile has lost what shows its job.
func (s *escapeeScan) escaped(pid int) bool {
	stat := liveStat(pid)
	return stat != nil && s.outside(pid, stat) && liveStat(pid) != nil
}

// outside reports whether nothing shows that a process belongs to a job.
func (s *escapeeScan) outside(pid int, stat []string) bool {
	if s.of != "" {
		return !bytes.Contains(procFile(pid, "cgroup"), []byte("/"+filepath.Base(s.of)+"/"))
	}
	sid, _ := strconv.Atoi(stat[3])
	_, in := s.mains[sid]
	main := stat[19] == strconv.FormatUint(s.mains[pid], 10)
	return !main && !in && !bytes.Contains(s.environment(pid), []byte("TROUPE_TREE="))
}

// An exec leaves a process without an environment for a moment, which is long on a busy machine,
// and cuts off a read of it. The process is looked at again, so often in one scan.
const (
	execLooks = 250
	execPause = time.Millisecond
)

// environment returns the environment of a process that was in no exec while it was read.
func (s *escapeeScan) environment(pid int) []byte {
	for {
		before := liveStat(pid)
		env := procFile(pid, "environ")
		after := liveStat(pid)
		switch {
		case len(before) <= envEnd || len(after) <= envEnd: // it is exiting
			return nil
		case before[envEnd] == after[envEnd] && after[envEnd] != "0":
			return env
		}
		if s.looks++; s.looks > execLooks {
			return env
		}
		<-time.After(execPause)
	}
}

// envEnd is the index in liveStat of where the environment ends in memory: another place after each
// exec, and 0 in an exec, but not for a process that has none.
const envEnd = 48

// pfExiting is PF_EXITING of the kernel: a process has the flag before it loses its memory, with
// its environment, and is a zombie only later.
const pfExiting = 0x4

// liveStat returns the fields of /proc/PID/stat from the state on; nil: the process has exited
// or is exiting.
func liveStat(pid int) []string {
	stat := procFile(pid, "stat")
	fields := strings.Fields(string(stat[bytes.LastIndexByte(stat, ')')+1:])) // S PPID PGID SID TTY TPGID FLAGS
	if len(fields) < 20 || fields[0] == "Z" || fields[0] == "X" {
		return nil
	}
	if flags, _ := strconv.ParseUint(fields[6], 10, 64); flags&pfExiting != 0 {
		return nil
	}
	return fields
}

// procFile returns a file of a process; empty: it cannot be read.
func procFile(pid int, name string) []byte {
	text, _ := os.ReadFile(fmt.Sprintf("/proc/%d/%s", pid, name))
	return text
}
