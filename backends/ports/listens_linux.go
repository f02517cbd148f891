package ports

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"strconv"
	"strings"

	"troupe/messages"
)

// listening is the state of a listening socket in /proc/net/tcp.
const listening = "0A"

// listens reports whether a process of the job has a socket that listens on port, on any
// address of the machine.
func listens(job messages.Record, port int) bool {
	sockets := map[string]bool{} // links of their descriptors
	for _, table := range []string{"tcp", "tcp6"} {
		listeners(fmt.Sprintf("/proc/%d/net/%s", job.PID, table), port, sockets)
	}
	if len(sockets) == 0 {
		return false
	}
	for _, pid := range members(job) {
		if holds(pid, sockets) {
			return true
		}
	}
	return false
}

// listeners adds the sockets of a table that listen on the port to into, by link.
func listeners(path string, port int, into map[string]bool) {
	f, err := os.Open(path)
	if err != nil {
		return
	}
	defer f.Close()
	want := fmt.Sprintf(":%04X", port)
	for lines := bufio.NewScanner(f); lines.Scan(); {
		fields := strings.Fields(lines.Text()) // sl local remote state queues timer retrnsmt uid timeout inode
		if len(fields) > 9 && fields[3] == listening && strings.HasSuffix(fields[1], want) {
			into["socket:["+fields[9]+"]"] = true
		}
	}
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
func holds(pid int, sockets map[string]bool) bool {
	path := fmt.Sprintf("/proc/%d/fd", pid)
	dir, err := os.Open(path)
	if err != nil {
		return false
	}
	defer dir.Close()
	names, _ := dir.Readdirnames(-1)
	for _, name := range names {
		if link, err := os.Readlink(path + "/" + name); err == nil && sockets[link] {
			return true
		}
	}
	return false
}
