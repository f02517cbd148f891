package engine

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// termRest returns a function that sends TERM to the processes of a job that a TERM to the
// groups of the main process and of the terminal's foreground does not reach now, and to
// their descendants; nil: there are none. Processes that start later in the groups belong to
// a cleanup that TERM has started.
//
// On a terminal a process that ignores TERM is one of the others: interactive shells do, and
// obey HUP.
func (h *platform) termRest(j *job, front int) func() {
	if h.probed.NoProcesses != "" { // no groups can be seen
		return j.termAll
	}
	var others []proc
	for _, p := range h.processesOf(j.tree) {
		reached := p.pgid == j.proc.pid || front != 0 && p.pgid == front
		hungUp := j.shell != nil && p.pid == j.proc.pid
		if !reached || !hungUp && h.wantsHUP(j, p) {
			others = append(others, p)
		}
	}
	if len(others) == 0 {
		return nil
	}
	return func() {
		for _, p := range offspring(h.processesOf(j.tree), others, true) {
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
