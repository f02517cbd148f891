package engine

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// remainsRounds bounds the scans for processes of a dead node. The pause doubles from
// killPause: half a second in all.
const remainsRounds = 8

// ulidLen is the length of a unique node name.
const ulidLen = 26

// KillLeftovers kills the tagged processes of a dead node of this user that had no
// cgroups. The caller knows that the node is dead. Within a job of that node it kills
// nothing, since this process has the tag. It reports whether nothing is left; if not,
// a later node scans again.
func (e *Local) KillLeftovers(node string) (gone bool) {
	if len(node) != ulidLen {
		return true // no node that tags its jobs
	}
	if e.host.probed.NoProcesses != "" {
		return false // no process is visible
	}
	if isTagged([]byte(tagName+"="+os.Getenv(tagName)), node) {
		return false
	}
	pause, before := killPause, -1
	for range remainsRounds {
		found := e.host.remains(node)
		for _, p := range found {
			signalProc(e.host.sys, p, unix.SIGKILL)
		}
		// One scan is not enough: in execve a process has no environment for a moment, and
		// a fork during the scan is missed.
		if len(found) == 0 && before == 0 {
			return true
		}
		if !e.host.rest(pause) {
			return false
		}
		pause, before = 2*pause, len(found)
	}
	return false
}

// remains returns this user's live processes with the tag of a node. It reads the start
// time before the tag: a signal proves the former, and so the latter.
func (h *platform) remains(node string) []proc {
	names, _ := listDir(h.sys, unix.AT_FDCWD, "/proc")
	var found []proc
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil || pid == h.self.pid {
			continue
		}
		p, ok := statProc(h.sys, pid)
		if !ok || p.dead() {
			continue
		}
		env, err := readFile(h.sys, unix.AT_FDCWD, procPath(pid, "environ"))
		if err == nil && isTagged(env, node) && h.isOurs(pid) {
			found = append(found, p)
		}
	}
	return found
}

// isOurs reports whether the real user of a process is this user. Root can read any
// environment, and any user can forge a tag.
func (h *platform) isOurs(pid int) bool {
	text, err := readFile(h.sys, unix.AT_FDCWD, procPath(pid, "status"))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), "\nUid:")
	ids := strings.Fields(rest)
	return len(ids) > 0 && ids[0] == strconv.Itoa(os.Getuid())
}

// isTagged reports whether the tag in an environment names a node.
func isTagged(env []byte, node string) bool {
	for kv := range bytes.SplitSeq(env, []byte{0}) {
		tag, ok := bytes.CutPrefix(kv, []byte(tagName+"="))
		for name := range bytes.SplitSeq(tag, []byte(":")) {
			if ok && string(name) == node {
				return true
			}
		}
	}
	return false
}
