package engine

import (
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// groupTree tracks a job without cgroups in a library's host: the process group of the
// main process, and the rest of its process session. Processes that left the session
// are not reached, and results say so.
type groupTree struct {
	platform *platform
	job      *job
}

func (g *groupTree) isolation() messages.Isolation { return messages.Group }

func (g *groupTree) path() string { return "" }

// alive reports whether the main process's group exists, with one call.
func (g *groupTree) alive() bool {
	return g.send(0) == nil
}

// send signals the group: by number while the main process is not reaped, then by its
// pidfd, which no other group can match.
func (g *groupTree) send(sig syscall.Signal) error {
	r := &g.job.proc
	r.mu.Lock()
	defer r.mu.Unlock()
	switch {
	case r.pid == 0:
		return unix.ESRCH
	case !r.gone:
		return g.platform.sys.Kill(-r.pid, sig)
	case r.pidfd >= 0:
		err := g.platform.sys.PidfdSignal(int(r.pidfd), sig, unix.PIDFD_SIGNAL_PROCESS_GROUP)
		if err != unix.EINVAL {
			return err
		}
	}
	if sig == 0 {
		return g.platform.sys.Kill(-r.pid, 0) // signal 0 has no effect on any group
	}
	return unix.ESRCH // before Linux 6.9: one by one
}

// members returns the live processes of the process session. Its number stays taken
// while one lives.
func (g *groupTree) members() []proc {
	live, _, _ := g.look()
	return live
}

// look reads the process session once. unreaped counts the dead processes of the main process's
// group. After an error there may be more.
func (g *groupTree) look() (live []proc, unreaped int, failed error) {
	r := &g.job.proc
	r.mu.Lock()
	pid, start, gone := r.pid, r.start, r.gone
	r.mu.Unlock()
	procs, failed := g.platform.processes.take(pid)
	for _, p := range procs {
		switch {
		case p.dead():
			if p.pgid == pid {
				unreaped++
			}
		case p.pid == pid && (gone || p.start != start):
			return nil, 0, nil // the number was reused: the session has ended
		default:
			live = append(live, p)
		}
	}
	return live, unreaped, failed
}

// Bounds of the readings that find no process of a group that exists.
const (
	mostReadings = 100
	mostUnreaped = 3 // of those that find dead processes of it, whose parents may never reap them
)

// left returns the live processes for a decision whether the job is over. The group exists while
// one of its processes does: a reading that shows none has missed one, and is repeated. So is one
// that fails, as without a descriptor: an unseen end must not be reported.
func (g *groupTree) left() []proc {
	for readings, unreaped := 0, 0; readings < mostReadings && unreaped < mostUnreaped; {
		live, dead, err := g.look()
		pause := killPause
		switch {
		case len(live) > 0 || err == nil && !g.alive():
			return live
		case err != nil:
			pause = blindPause
		default:
			readings++
			unreaped += min(dead, 1)
		}
		if !g.platform.rest(pause) {
			break
		}
	}
	return nil
}

func (g *groupTree) count(tell func(int, bool)) {
	if !g.alive() {
		tell(0, true)
		return
	}
	g.platform.engine.run(g.job, func() {
		n := 1 // at least
		if !g.unseen() {
			n = len(g.left())
		}
		tell(n, n == 0)
	})
}

// unseen reports whether only the existence of the group can be seen.
func (g *groupTree) unseen() bool { return g.platform.probed.NoProcesses != "" }

func (g *groupTree) await(empty func()) {
	if !g.unseen() {
		g.platform.awaitProcs(g.job, g.left, empty)
		return
	}
	g.platform.poll(g.job, func() bool {
		if g.alive() {
			return false
		}
		empty()
		return true
	})
}

// awaitProcs calls empty when members returns none: it watches one process, then the
// next.
func (h *platform) awaitProcs(j *job, members func() []proc, empty func()) {
	h.engine.run(j, func() { h.watchNext(j, members, empty) })
}

func (h *platform) watchNext(j *job, members func() []proc, empty func()) {
	procs := members()
	if len(procs) == 0 {
		empty()
		return
	}
	again := func() { h.awaitProcs(j, members, empty) }
	fd, err := h.sys.PidfdOpen(procs[0].pid)
	if err == nil {
		err = h.pollset.watch(fd, func() {
			_ = h.sys.Close(fd)
			again()
		})
	}
	if err == unix.ESRCH {
		again()
		return
	}
	if err != nil {
		if fd >= 0 {
			_ = h.sys.Close(fd)
		}
		h.poll(j, func() bool {
			if len(members()) > 0 {
				return false
			}
			empty()
			return true
		})
	}
}

func (g *groupTree) signal(sigs ...syscall.Signal) {
	for _, sig := range sigs {
		_ = g.send(sig)
	}
	pid := g.job.proc.pid
	procs := g.members()
	g.platform.engine.bounded(func() {
		for _, p := range procs {
			if p.pgid != pid || g.job.proc.reaped() && !g.platform.groupSignal() {
				signalProc(g.platform.sys, p, sigs...)
			}
		}
	})
}

// groupRounds bounds the kill: processes that fork faster than a scan leave the group
// anyway.
const groupRounds = 5

func (*groupTree) atOnce() bool { return false }

func (g *groupTree) kill() {
	for range groupRounds {
		g.signal(unix.SIGKILL)
		if !g.alive() && len(g.members()) == 0 || !g.platform.rest(killPause) {
			return
		}
	}
}

func (g *groupTree) pids() []int { return pidsOf(g.members()) }

func (g *groupTree) survivors() []messages.Survivor {
	list := survivorsOf(g.platform.sys, pidsOf(g.members()))
	for i := range list {
		list[i].Why = "it did not end within two seconds of its KILL"
	}
	return list
}

func (g *groupTree) oom(end messages.ExitStatus, stopped bool, before int64) messages.Tristate {
	return g.platform.memory.judge(end, stopped, before)
}

func (g *groupTree) end() {}
