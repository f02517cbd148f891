package engine

import (
	"bytes"
	"errors"
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// inputState is the result of probing a job's input.
type inputState uint8

const (
	notReading inputState = iota // no process waits for it
	reads                        // a process is blocked in a read of the empty pipe
	blind                        // unknown: some processes cannot be inspected
	deaf                         // no process has the pipe open
	unseen                       // the input is closed
)

// pipeReadProbe detects processes that wait in a read of one pipe.
type pipeReadProbe struct {
	sys  Sys
	pipe unix.Stat_t
}

// lookAt probes processes in turn.
func lookAt(pids []int, look func(pid int) inputState) inputState {
	all := notReading
	for _, pid := range pids {
		switch look(pid) {
		case reads:
			return reads
		case blind:
			all = blind
		}
	}
	return all
}

// process inspects the system calls of a process's threads.
func (r *pipeReadProbe) process(pid int) inputState {
	tids, err := listDir(r.sys, unix.AT_FDCWD, procPath(pid, "task"))
	if err != nil {
		return denied(err)
	}
	for _, tid := range tids {
		thread := procPath(pid, "task/"+tid+"/")
		call, err := readFile(r.sys, unix.AT_FDCWD, thread+"syscall")
		switch {
		case err != nil && denied(err) == notReading:
			continue // it has ended
		case err != nil:
			return r.suspect(pid, tids)
		}
		if fd := readOf(call); fd >= 0 && r.is(thread+"fd/"+strconv.Itoa(fd)) && r.sleeps(pid, thread) {
			return reads
		}
	}
	return notReading
}

// denied returns blind for a process that cannot be inspected, notReading for one that
// has ended.
func denied(err error) inputState {
	if errors.Is(err, unix.ENOENT) || errors.Is(err, unix.ESRCH) {
		return notReading
	}
	return blind
}

// readOf returns the descriptor that a system call waits to read from; -1: another
// call. "0 0x3 0x7f…" is a read of 3; a running thread has "running".
func readOf(call []byte) int {
	f := bytes.Fields(call)
	if len(f) < 2 {
		return -1
	}
	switch n, _ := strconv.Atoi(string(f[0])); {
	case !bytes.HasPrefix(f[1], []byte("0x")):
		return -1
	case n != unix.SYS_READ && n != unix.SYS_READV && n != unix.SYS_SPLICE && n != unix.SYS_TEE:
		return -1
	}
	fd, err := strconv.ParseUint(string(f[1][2:]), 16, 64)
	if err != nil {
		return -1
	}
	return int(int32(fd))
}

// is reports whether a path leads to the pipe.
func (r *pipeReadProbe) is(path string) bool {
	var st unix.Stat_t
	return r.sys.StatAt(unix.AT_FDCWD, path, &st) == nil && st.Ino == r.pipe.Ino && st.Dev == r.pipe.Dev
}

// sleeps reports whether a thread waits and is not stopped.
func (r *pipeReadProbe) sleeps(pid int, thread string) bool {
	text, err := readFile(r.sys, unix.AT_FDCWD, thread+"stat")
	if err != nil {
		return false
	}
	p, ok := parseStat(pid, text)
	return ok && p.state == 'S'
}

// suspect probes where the kernel hides system calls (Yama, scope 2 and up). A thread
// that sleeps in a read of some pipe reads ours if its process has no other.
func (r *pipeReadProbe) suspect(pid int, tids []string) inputState {
	for _, tid := range tids {
		thread := procPath(pid, "task/"+tid+"/")
		before, where := r.switches(thread), r.place(thread)
		if !r.sleeps(pid, thread) || !mayReadPipe(where) {
			continue
		}
		ours, others, err := r.pipes(pid)
		switch {
		case !r.sleeps(pid, thread) || r.place(thread) != where || r.switches(thread) != before: // it went on, and perhaps to another pipe
		case err != nil:
			return denied(err)
		case ours && (others || where == ""):
			return blind
		case ours:
			return reads
		}
	}
	return notReading
}

// place returns where in the kernel a thread sleeps; "": hidden.
func (r *pipeReadProbe) place(thread string) string {
	text, err := readFile(r.sys, unix.AT_FDCWD, thread+"wchan")
	if where := string(bytes.TrimSpace(text)); err == nil && where != "0" {
		return where
	}
	return ""
}

// mayReadPipe reports whether a thread that sleeps at this place may be in a read of a pipe.
func mayReadPipe(place string) bool {
	return place == "" || strings.Contains(place, "pipe_read") || strings.HasPrefix(place, "pipe_wait")
}

// switches returns how often a thread went to sleep; "": unknown.
func (r *pipeReadProbe) switches(thread string) string {
	text, _ := readFile(r.sys, unix.AT_FDCWD, thread+"status")
	_, count, _ := strings.Cut(string(text), "\nvoluntary_ctxt_switches:")
	count, _, _ = strings.Cut(count, "\n")
	return count
}

// pipes reports whether a process can read the pipe, or any other.
func (r *pipeReadProbe) pipes(pid int) (ours, others bool, err error) {
	fds, err := listDir(r.sys, unix.AT_FDCWD, procPath(pid, "fd"))
	if err != nil {
		return false, false, err
	}
	for _, fd := range fds {
		var st unix.Stat_t
		if r.sys.StatAt(unix.AT_FDCWD, procPath(pid, "fd/"+fd), &st) != nil || st.Mode&unix.S_IFMT != unix.S_IFIFO {
			continue
		}
		if st.Ino == r.pipe.Ino && st.Dev == r.pipe.Dev {
			ours = true
		} else if r.readable(procPath(pid, "fdinfo/"+fd)) {
			others = true
		}
	}
	return ours, others, nil
}

// readable reports whether a descriptor is, or may be, open for reading.
func (r *pipeReadProbe) readable(info string) bool {
	text, err := readFile(r.sys, unix.AT_FDCWD, info)
	if err != nil {
		return true
	}
	for line := range strings.Lines(string(text)) {
		if flags, ok := strings.CutPrefix(line, "flags:"); ok {
			n, err := strconv.ParseUint(strings.TrimSpace(flags), 8, 64)
			return err != nil || n&unix.O_ACCMODE != unix.O_WRONLY
		}
	}
	return true
}

// Ways to detect that a process reads.
const (
	byCall  = "system calls"
	byPlace = "places of sleep only"
)

// canSeeReads returns the way available here; "": none.
func (h *platform) canSeeReads() string {
	if _, err := readFile(h.sys, unix.AT_FDCWD, "/proc/thread-self/syscall"); err == nil {
		scope, err := readFile(h.sys, unix.AT_FDCWD, "/proc/sys/kernel/yama/ptrace_scope")
		if s := string(bytes.TrimSpace(scope)); err != nil || s == "0" || s == "1" { // 1: what descends from us
			return byCall
		}
	}
	if _, err := readFile(h.sys, unix.AT_FDCWD, "/proc/thread-self/wchan"); err == nil {
		return byPlace
	}
	return ""
}
