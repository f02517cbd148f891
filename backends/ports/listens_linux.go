package ports

import (
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"troupe/messages"
)

// listens reports whether a process of the job has a socket that listens on port, on any
// address of the machine.
func listens(job messages.Record, port int) bool {
	links := map[string]bool{} // of their descriptors
	want := fmt.Sprintf(":%04X", port)
	for _, table := range []string{"tcp", "tcp6"} {
		sockets(fmt.Sprintf("/proc/%d/net/%s", job.PID, table), listening, func(inode, local string) {
			if strings.HasSuffix(local, want) {
				links[link(inode)] = true
			}
		})
	}
	if len(links) == 0 {
		return false
	}
	for _, pid := range members(job) {
		if holds(pid, links) {
			return true
		}
	}
	return false
}

// members returns the processes of a job: those of its cgroup, or else its main process's
// descendants and process session.
func members(job messages.Record) []int {
	dir, err := os.Open("/proc")
	if err != nil {
		return nil
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	parents, in := map[int]int{}, map[int]bool{job.PID: true}
	group, grouped := cgroup(job.PID), job.Isolation == messages.InCgroup
	var all []int
	for _, name := range names {
		pid, err := strconv.Atoi(name)
		if err != nil {
			continue
		}
		if grouped {
			in[pid] = group != "" && cgroup(pid) == group
		} else if ppid, sid, ok := stat(pid); ok {
			parents[pid] = ppid
			in[pid] = pid == job.PID || sid == job.PID
		}
		all = append(all, pid)
	}
	var members []int
	for _, pid := range all {
		for at, steps := pid, 0; at > 1 && steps < len(all); at, steps = parents[at], steps+1 {
			if in[at] {
				members = append(members, pid)
				break
			}
		}
	}
	return members
}

// cgroup returns the line of cgroup v2 of a process, "" if it cannot be read.
func cgroup(pid int) string {
	b, _ := os.ReadFile(fmt.Sprintf("/proc/%d/cgroup", pid))
	for line := range strings.Lines(string(b)) {
		if strings.HasPrefix(line, "0::") {
			return line
		}
	}
	return ""
}

// stat returns the parent and the process session of a process.
func stat(pid int) (ppid, sid int, ok bool) {
	b, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	if err != nil {
		return 0, 0, false
	}
	var state string
	var pgid int
	_, err = fmt.Sscan(string(b[bytes.LastIndexByte(b, ')')+1:]), &state, &ppid, &pgid, &sid)
	return ppid, sid, err == nil
}

// holds reports whether a process has one of the sockets open.
func holds(pid int, links map[string]bool) (does bool) {
	_ = descriptors(pid, func(link []byte) bool {
		does = links[string(link)]
		return !does
	})
	return does
}
