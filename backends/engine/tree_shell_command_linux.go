package engine

import (
	"slices"
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// shellCommandTree tracks a shell command: the processes in the shell's tree, without
// the shell and those from before the command. It ends with the command; leftovers
// belong to the shell.
type shellCommandTree struct {
	*shellCommand
	tree tree // of the shell
}

func (w *shellCommandTree) isolation() messages.Isolation { return w.tree.isolation() }

func (w *shellCommandTree) path() string { return w.tree.path() }

// count passes on the number of processes beside the shell, and whether the command
// waits for none.
func (w *shellCommandTree) count(tell func(int, bool)) {
	if t, is := w.tree.(*cgroupTree); is && t.noneLeft() && w.scanMu.TryLock() {
		left, empty := w.take()
		w.scanMu.Unlock()
		tell(left, empty)
		return
	}
	w.job.engine.run(w.job, func() { // the scan is slow, or another goroutine has scanMu
		w.scanMu.Lock()
		left, empty := w.take()
		w.scanMu.Unlock()
		tell(left, empty)
	})
}

// take records the leftovers. The caller holds scanMu.
func (w *shellCommandTree) take() (left int, empty bool) {
	all := w.others()
	w.shell.mu.Lock()
	w.shell.baseline = all
	w.shell.mu.Unlock()
	mine := offspring(all, w.baseline, false)
	w.job.mu.Lock()
	defer w.job.mu.Unlock()
	empty = len(mine) == 0 || w.job.escalation == nil && w.job.postFork.onExit != messages.KillChildren
	w.leftovers, w.seen, w.detached = mine, true, w.detached || empty
	if w.part != nil && (len(all) > 0 || w.shared) {
		w.job.flag(messages.FlagBackground)
	}
	return len(all), empty
}

// others returns the live processes of the shell's tree, without the shell.
func (w *shellCommandTree) others() []proc {
	shell := w.shell.job.proc.pid
	return slices.DeleteFunc(w.job.engine.host.processesOf(w.tree), func(p proc) bool { return p.pid == shell })
}

// members returns the live processes of the command. While the shell runs it, or it is
// being stopped, these are all since its start; later, its leftovers and their
// descendants. A process chain that forks and exits loses its descent, and is found
// only in the first case.
func (w *shellCommandTree) members() []proc {
	w.job.mu.Lock()
	gone, over, left := w.detached, w.seen && !w.job.escalation.waitsForTree(), w.leftovers
	w.job.mu.Unlock()
	switch {
	case gone:
		return nil
	case over:
		return offspring(w.others(), left, true)
	}
	return offspring(w.others(), w.baseline, false)
}

// offspring returns those of procs that are among some or descend from them; if are is
// false, the others.
func offspring(procs, some []proc, are bool) []proc {
	if len(some) == 0 {
		if are {
			return nil
		}
		return procs
	}
	known := make(map[int]proc, len(procs))
	for _, p := range procs {
		known[p.pid] = p
	}
	in := make(map[int]bool, len(procs))
	for _, p := range some {
		if is, ok := known[p.pid]; ok && is.start == p.start {
			in[p.pid] = true
		}
	}
	var out []proc
	for _, p := range procs {
		found := false
		for at, steps := p, 0; !found && steps <= len(procs); steps++ {
			found = in[at.pid]
			parent, ok := known[at.ppid]
			if !ok {
				break
			}
			at = parent
		}
		if found == are {
			out = append(out, p)
		}
	}
	return out
}

func (w *shellCommandTree) await(empty func()) {
	w.job.engine.host.awaitProcs(w.job, w.members, func() {
		w.scanMu.Lock()
		w.job.mu.Lock()
		w.detached = true
		w.job.mu.Unlock()
		w.scanMu.Unlock()
		empty()
	})
}

// pids returns the command's processes and the shell, which may be the one that reads.
func (w *shellCommandTree) pids() []int { return append(pidsOf(w.members()), w.shell.job.proc.pid) }

func (w *shellCommandTree) signal(sigs ...syscall.Signal) {
	w.scanMu.Lock()
	defer w.scanMu.Unlock()
	w.job.engine.host.send(w.members(), sigs...)
}

func (*shellCommandTree) atOnce() bool { return false }

// kill stops processes until no new ones appear, then kills them, and repeats: a
// stopped process does not fork. The shell is spared.
func (w *shellCommandTree) kill() {
	for range killRounds {
		if !w.killThose() || !w.job.engine.host.rest(killPause) {
			return
		}
	}
}

// killThose reports whether there was a process to kill.
func (w *shellCommandTree) killThose() (some bool) {
	w.scanMu.Lock()
	defer w.scanMu.Unlock()
	procs := freeze(w.members, func(some []proc) { w.job.engine.host.send(some, unix.SIGSTOP) })
	w.job.engine.host.send(procs, unix.SIGKILL)
	return len(procs) > 0
}

func (w *shellCommandTree) survivors() []messages.Survivor {
	return survivorsOf(w.job.engine.opt.Sys, pidsOf(w.members()))
}

// oom reads the shell's counter, and records it so that the next command does not
// report the same kill.
func (w *shellCommandTree) oom(end messages.ExitStatus, stopped bool, before int64) messages.Tristate {
	answer := w.tree.oom(end, stopped, before)
	if t, own := w.tree.(*cgroupTree); own && t.cg.all.memory && answer == messages.Yes {
		w.shell.mu.Lock()
		w.shell.ooms = t.ooms() - w.shell.job.postFork.oom
		w.shell.mu.Unlock()
	}
	return answer
}

func (w *shellCommandTree) follow() {
	if t, is := w.tree.(*cgroupTree); is {
		t.follow()
	}
}

// end releases nothing: the shell owns all.
func (w *shellCommandTree) end() {}
