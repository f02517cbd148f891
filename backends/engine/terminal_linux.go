package engine

import (
	"bytes"
	"strconv"

	"golang.org/x/sys/unix"
)

// terminals returns how many terminals this machine has in use and at most; 0: unknown.
func terminals(sys Sys) (used, most int) {
	number := func(path string) int {
		text, _ := readSmall(sys, unix.AT_FDCWD, path, 32) // a number
		n, _ := strconv.Atoi(string(bytes.TrimSpace(text)))
		return n
	}
	return number("/proc/sys/kernel/pty/nr"), number("/proc/sys/kernel/pty/max")
}

// askFront sends the stop signal to the processes of a foreground group, which an interactive
// shell has made.
func (h *platform) askFront(j *job, group int) {
	if group == 0 || group == j.proc.pid {
		return // it has got it
	}
	for _, pid := range j.tree.pids() {
		if p, ok := statProc(h.sys, pid); ok && p.pgid == group {
			signalProc(h.sys, p, j.stopSignal())
		}
	}
}

// probeTerminals finds out whether terminals can be opened, and their output spliced.
func (h *platform) probeTerminals() (none string, spliced bool) {
	master, slave, err := h.sys.OpenTerminal()
	if err != nil {
		return err.Error(), false
	}
	defer h.sys.Close(master)
	defer h.sys.Close(slave)
	r, w, err := h.sys.Pipe()
	if err != nil {
		return "", false
	}
	defer h.sys.Close(r)
	defer h.sys.Close(w)
	if _, err := h.sys.Write(slave, []byte("x")); err != nil {
		return "", false
	}
	n, err := h.sys.Splice(master, w, 1) // a byte is there, so the blocking master does not wait
	return "", err == nil && n == 1
}
