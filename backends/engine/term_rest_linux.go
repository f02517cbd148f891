package engine

import (
	"bytes"
	"strconv"
	"syscall"

	"golang.org/x/sys/unix"
)

// termRest returns a function that sends the stop signal (TERM) to the processes of a job that
// have got none by one that is sent now to the groups of the main process and of the terminal's
// foreground: those of other groups with their descendants, and those that start later. A
// process whose live ancestor gets this TERM is spared, since it may belong to a cleanup.
// Processes are listed only if the function is called: most trees have ended by then.
//
// On a terminal the leader of a group that ignores TERM is one of the others: interactive
// shells do, and obey HUP.
func (h *platform) termRest(j *job, front int) func() {
	if h.probed.NoProcesses != "" { // no groups can be seen
		return j.termAll
	}
	sent, ignore := h.moment(), map[int]bool{}
	if j.term != nil {
		for _, pid := range []int{j.proc.pid, front} {
			p, ok := statProc(h.sys, pid)
			hungUp := j.shell != nil && pid == j.proc.pid
			ignore[pid] = ok && !hungUp && h.wantsHUP(j, p)
		}
	}
	return func() {
		now := h.processesOf(j.tree)
		var reached, others []proc
		for _, p := range now {
			switch inGroups := p.pgid == j.proc.pid || front != 0 && p.pgid == front; {
			case sent.before(p):
			case inGroups && !ignore[p.pid]:
				reached = append(reached, p)
			default:
				others = append(others, p)
			}
		}
		rest := make(map[int]proc)
		for _, p := range append(offspring(now, others, true), offspring(now, reached, false)...) {
			rest[p.pid] = p
		}
		for _, p := range rest {
			sig := j.stopSignal()
			if h.wantsHUP(j, p) {
				sig = unix.SIGHUP
			}
			h.send([]proc{p}, sig, unix.SIGCONT)
		}
	}
}

// moment is a point in time, on the scale of start times and of process ids. Within a tick
// only the ids tell what started later.
type moment struct {
	tick uint64
	pid  int // the last that was given away; 0 if unknown
}

func (h *platform) moment() moment {
	at, _ := h.sys.Boottime()
	load, _ := readFile(h.sys, unix.AT_FDCWD, "/proc/loadavg")
	fields := bytes.Fields(load)
	m := moment{tick: uint64(at / tick)}
	if len(fields) > 0 {
		m.pid, _ = strconv.Atoi(string(fields[len(fields)-1]))
	}
	return m
}

// before reports whether a process started after the moment.
func (m moment) before(p proc) bool {
	return p.start > m.tick || p.start == m.tick && m.pid != 0 && p.pid > m.pid
}

// wantsHUP reports whether a process of a job on a terminal ignores the stop signal.
func (h *platform) wantsHUP(j *job, p proc) bool {
	return j.term != nil && p.inSignalSet(h.sys, j.stopSignal(), "SigIgn")
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
