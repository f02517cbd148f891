package engine

import (
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// descent holds a job together by descent: its main process, its orphans,
// which come to this process as their subreaper, and whatever descends from
// these. With job nil it is everything that descends from this process and
// belongs to no job.
type descent struct {
	h   *host
	job *job
}

func (d *descent) isolation() messages.Isolation { return messages.Subreaper }

func (d *descent) path() string { return "" }

// count looks when the walker does. The main process was reaped: what is left
// are orphans and what is below them.
func (d *descent) count(tell func(int, bool)) {
	d.h.walk.ask(d.job, func(tops []proc) {
		if len(tops) == 0 {
			tell(0, true)
			return
		}
		tell(len(d.below(tops)), false)
	})
}

func (d *descent) await(empty func()) { d.h.walk.wait(d.job, empty) }

// orphans are the topmost processes of the job but for the main one, seen after
// the call.
func (d *descent) orphans() []proc {
	if d.job == nil {
		found, _ := d.h.walk.look()
		return found[nil]
	}
	seen := make(chan []proc, 1)
	d.h.walk.ask(d.job, func(tops []proc) { seen <- tops })
	return <-seen
}

// below adds to some processes all that descends from them. A process that
// forks meanwhile may be missed: only what was stopped can be listed for sure.
func (d *descent) below(tops []proc) []proc {
	all := tops
	seen := make(map[int]bool, len(tops))
	for _, p := range tops {
		seen[p.pid] = true
	}
	for i := 0; i < len(all); i++ {
		pids, _ := children(d.h.sys, all[i]) // who is missed is an orphan when these are dead
		for _, pid := range pids {
			if seen[pid] {
				continue
			}
			seen[pid] = true
			if p, ok := statProc(d.h.sys, pid); ok && !p.dead() {
				all = append(all, p)
			}
		}
	}
	return all
}

// members are the processes of the job that live, seen after the call.
func (d *descent) members() (all []proc) {
	orphans := d.orphans()
	d.h.e.bounded(func() { all = d.below(append(d.main(), orphans...)) })
	return all
}

// hanging are the main process and what descends from it.
func (d *descent) hanging() (all []proc) {
	d.h.e.bounded(func() { all = d.below(d.main()) })
	return all
}

// main is the main process, if it lives.
func (d *descent) main() []proc {
	if d.job == nil || d.job.root.reaped() {
		return nil
	}
	p, ok := statProc(d.h.sys, d.job.root.pid)
	if !ok || p.dead() {
		return nil
	}
	return []proc{p}
}

func (d *descent) signal(sigs ...syscall.Signal) {
	d.send(d.members(), sigs...)
}

func (d *descent) send(procs []proc, sigs ...syscall.Signal) {
	d.h.e.bounded(func() {
		for _, p := range procs {
			signalProc(d.h.sys, p, sigs...)
		}
	})
}

func (*descent) atOnce() bool { return false }

// kill stops whatever there is until nothing new appears, then kills it, and
// again, until nothing is left: who is stopped does not fork. What hangs below
// the main process goes first, without a look at the orphans of all jobs.
func (d *descent) kill() {
	stop := func(procs []proc) { d.send(procs, unix.SIGSTOP) }
	d.send(freeze(d.hanging, stop), unix.SIGKILL)
	for range killRounds {
		procs := freeze(d.members, stop)
		if len(procs) == 0 {
			return
		}
		d.send(procs, unix.SIGKILL)
		if !d.h.rest(killPause) {
			return
		}
	}
}

// freeze stops processes to a fixpoint and gives all of them.
func freeze(list func() []proc, stop func([]proc)) []proc {
	seen := make(map[proc]bool)
	var all []proc
	for range killRounds {
		had := len(all)
		for _, p := range list() {
			id := proc{pid: p.pid, start: p.start}
			if !seen[id] {
				seen[id] = true
				all = append(all, p)
			}
		}
		if len(all) == had {
			break
		}
		stop(all[had:])
	}
	return all
}

func (d *descent) pids() []int { return pidsOf(d.members()) }

func (d *descent) survivors() []messages.Survivor {
	return survivorsOf(d.h.sys, d.pids())
}

func pidsOf(procs []proc) []int {
	pids := make([]int, len(procs))
	for i, p := range procs {
		pids[i] = p.pid
	}
	return pids
}

// oom cannot be known: nobody counts.
func (d *descent) oom(messages.ExitStatus, int64) messages.Tristate { return messages.Unknown }

func (d *descent) end() { d.h.walk.forget(d.job) }
