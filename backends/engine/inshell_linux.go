package engine

import (
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// inShell is the tree of a command in a live shell: what lives in that of the shell, but
// for the shell itself and what was there before the command. It ends with the command;
// what is left behind is the shell's.
type inShell struct {
	*section
	tree tree // of the shell
}

func (w *inShell) isolation() messages.Isolation { return w.tree.isolation() }

func (w *inShell) path() string { return w.tree.path() }

// count tells how many processes are in the shell's tree beside the shell, and whether
// nothing is left for which the command has to wait.
func (w *inShell) count(tell func(int, bool)) {
	if w.isolation() == messages.InCgroup && w.aim.TryLock() {
		left, empty := w.take()
		w.aim.Unlock()
		tell(left, empty)
		return
	}
	w.job.e.run(w.job, func() { // it has to look around, or to wait for who takes aim
		w.aim.Lock()
		left, empty := w.take()
		w.aim.Unlock()
		tell(left, empty)
	})
}

// take notes who is left behind. Called with aim.
func (w *inShell) take() (left int, empty bool) {
	all := w.others()
	w.shell.mu.Lock()
	w.shell.present = all
	w.shell.mu.Unlock()
	mine := offspring(all, w.before, false)
	w.job.mu.Lock()
	defer w.job.mu.Unlock()
	empty = len(mine) == 0 || w.job.ladder == nil && w.job.later.onExit != messages.KillChildren
	w.left, w.seen, w.gone = mine, true, w.gone || empty
	if w.part != nil && (len(all) > 0 || w.shared) {
		w.job.flag(messages.FlagBackground)
	}
	return len(all), empty
}

// others are the processes of the shell's tree that live, but for the shell.
func (w *inShell) others() []proc {
	shell := w.shell.job.root.pid
	var procs []proc
	for _, pid := range w.tree.pids() {
		if pid == shell {
			continue
		}
		if p, ok := statProc(w.job.e.opt.Sys, pid); ok && !p.dead() {
			procs = append(procs, p)
		}
	}
	return procs
}

// members are the processes of the command that live: as long as the shell runs it, or
// it is being stopped, all that came since it began; then what it left, and what descends
// from that. One that forks and ends again and again descends from nobody: it is found
// only while the shell takes no other command.
func (w *inShell) members() []proc {
	w.job.mu.Lock()
	gone, over, left := w.gone, w.seen && !w.job.ladder.forAll(), w.left
	w.job.mu.Unlock()
	switch {
	case gone:
		return nil
	case over:
		return offspring(w.others(), left, true)
	}
	return offspring(w.others(), w.before, false)
}

// offspring are those of procs that are among some or descend from them, or that do not.
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

func (w *inShell) await(empty func()) {
	w.job.e.host.awaitProcs(w.job, w.members, func() {
		w.aim.Lock()
		w.job.mu.Lock()
		w.gone = true
		w.job.mu.Unlock()
		w.aim.Unlock()
		empty()
	})
}

// pids are the processes of the command, and the shell: it may be that which reads.
func (w *inShell) pids() []int { return append(pidsOf(w.members()), w.shell.job.root.pid) }

func (w *inShell) signal(sigs ...syscall.Signal) {
	w.aim.Lock()
	defer w.aim.Unlock()
	w.send(w.members(), sigs...)
}

func (w *inShell) send(procs []proc, sigs ...syscall.Signal) {
	w.job.e.bounded(func() {
		for _, p := range procs {
			signalProc(w.job.e.opt.Sys, p, sigs...)
		}
	})
}

func (*inShell) atOnce() bool { return false }

// kill stops what there is until nothing new appears, then kills it, and again: who is
// stopped does not fork. The shell is let alone.
func (w *inShell) kill() {
	for range killRounds {
		if !w.killThose() || !w.job.e.host.rest(killPause) {
			return
		}
	}
}

// killThose reports whether there was one.
func (w *inShell) killThose() (some bool) {
	w.aim.Lock()
	defer w.aim.Unlock()
	procs := freeze(w.members, func(some []proc) { w.send(some, unix.SIGSTOP) })
	w.send(procs, unix.SIGKILL)
	return len(procs) > 0
}

func (w *inShell) survivors() []messages.Survivor {
	return survivorsOf(w.job.e.opt.Sys, pidsOf(w.members()))
}

// oom asks the shell's tree, and notes what it has counted, so that the next command is
// not told of it again.
func (w *inShell) oom(end messages.ExitStatus, before int64) messages.Tristate {
	answer := w.tree.oom(end, before)
	if answer == messages.Yes {
		w.shell.mu.Lock()
		w.shell.ooms = w.tree.(*cgroupTree).ooms() - w.shell.job.later.oom
		w.shell.mu.Unlock()
	}
	return answer
}

// end gives nothing back: all is the shell's.
func (w *inShell) end() {}
