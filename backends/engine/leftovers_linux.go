package engine

import (
	"bytes"
	"os"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// remainsRounds bounds how often the processes of a dead node are looked for, at
// doubling distances from killPause on: half a second in all.
const remainsRounds = 8

// ulidLen is the length of a node's name that no other node has.
const ulidLen = 26

// KillLeftovers kills what is left of the jobs of a node of this user that had no
// cgroups: all that has its tag. The caller knows that the node is dead. Who runs
// within a job of that node itself ends nobody: it would be among them. It reports
// whether nothing is left; if something is, a later node has to look again.
func (e *Local) KillLeftovers(node string) (gone bool) {
	if len(node) != ulidLen {
		return true // no node that tags its jobs
	}
	if e.host.probed.NoProcesses != "" {
		return false // nobody can be seen
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
		// One look is none: a process has no environment for a moment of its exec, and
		// one that was about to fork has a child that was not seen.
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

// remains are the living processes of this user with the tag of a node. The
// start time is read before the tag: a signal proves it, and so the tag.
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

// isOurs reports whether the real user of a process is ours: root reads the
// environment of everybody, and anybody may have written any tag into it.
func (h *platform) isOurs(pid int) bool {
	text, err := readFile(h.sys, unix.AT_FDCWD, procPath(pid, "status"))
	if err != nil {
		return false
	}
	_, rest, _ := strings.Cut(string(text), "\nUid:")
	ids := strings.Fields(rest)
	return len(ids) > 0 && ids[0] == strconv.Itoa(os.Getuid())
}

// isTagged reports whether a node is named in the tag of an environment.
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
