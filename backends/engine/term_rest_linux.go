package engine

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// termRest returns a function that sends TERM to the processes of a job that have got none:
// those that a TERM to the groups of the main process and of the terminal's foreground does
// not reach now, with their descendants, and those that start later. A process whose live
// ancestor the first TERM reaches is spared, since it may belong to a cleanup.
//
// On a terminal a process that ignores TERM is one of the others: interactive shells do, and
// obey HUP.
func (h *platform) termRest(j *job, front int) func() {
	if h.probed.NoProcesses != "" { // no groups can be seen
		return j.termAll
	}
	var reached, others []proc
	for _, p := range h.processesOf(j.tree) {
		hungUp := j.shell != nil && p.pid == j.proc.pid
		if inGroups := p.pgid == j.proc.pid || front != 0 && p.pgid == front; inGroups && (hungUp || !h.wantsHUP(j, p)) {
			reached = append(reached, p)
		} else {
			others = append(others, p)
		}
	}
	return func() {
		now, sent := h.processesOf(j.tree), make(map[int]bool)
		for _, p := range append(offspring(now, others, true), offspring(now, reached, false)...) {
			if sent[p.pid] {
				continue
			}
			sent[p.pid] = true
			sig := unix.SIGTERM
			if h.wantsHUP(j, p) {
				sig = unix.SIGHUP
			}
			h.send([]proc{p}, sig, unix.SIGCONT)
		}
	}
}

// wantsHUP reports whether a process of a job on a terminal ignores TERM.
func (h *platform) wantsHUP(j *job, p proc) bool {
	return j.term != nil && p.inSignalSet(h.sys, unix.SIGTERM, "SigIgn")
}

// processesOf returns the live processes of a tree.
func (h *platform) processesOf(t tree) (procs []proc) {
	for _, pid := range t.pids() {
		if p, ok := statProc(h.sys, pid); ok && !p.dead() {
			procs = append(procs, p)
		}
	}
	return procs
}

// send signals processes that were seen before.
func (h *platform) send(procs []proc, sigs ...syscall.Signal) {
	h.engine.bounded(func() {
		for _, p := range procs {
			signalProc(h.sys, p, sigs...)
		}
	})
}
