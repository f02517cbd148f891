package engine

import (
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// subreaperTree holds a job together by descent: its main process, its orphans,
// which come to this process as their subreaper, and whatever descends from
// these. With job nil it is everything that descends from this process and
// belongs to no job.
type subreaperTree struct {
	platform *platform
	job      *job
}

func (d *subreaperTree) isolation() messages.Isolation { return messages.Subreaper }

func (d *subreaperTree) path() string { return "" }

// count looks when the walker does. The main process was reaped: what is left
// are orphans and what is below them.
func (d *subreaperTree) count(tell func(int, bool)) {
	d.platform.orphans.ask(d.job, func(tops []proc) {
		if len(tops) == 0 {
			tell(0, true)
			return
		}
		tell(len(d.below(tops)), false)
	})
}

func (d *subreaperTree) await(empty func()) { d.platform.orphans.wait(d.job, empty) }

// orphans are the topmost processes of the job but for the main one, seen after
// the call.
func (d *subreaperTree) orphans() []proc {
	if d.job == nil {
		found, _ := d.platform.orphans.look()
		return found[nil]
	}
	seen := make(chan []proc, 1)
	d.platform.orphans.ask(d.job, func(tops []proc) { seen <- tops })
	return <-seen
}

// below adds to some processes all that descends from them. A process that
// forks meanwhile may be missed: only what was stopped can be listed for sure.
func (d *subreaperTree) below(tops []proc) []proc {
	all := tops
	seen := make(map[int]bool, len(tops))
	for _, p := range tops {
		seen[p.pid] = true
	}
	for i := 0; i < len(all); i++ {
		pids, _ := children(d.platform.sys, all[i]) // who is missed is an orphan when these are dead
		for _, pid := range pids {
			if seen[pid] {
				continue
			}
			seen[pid] = true
			if p, ok := statProc(d.platform.sys, pid); ok && !p.dead() {
				all = append(all, p)
			}
		}
	}
	return all
}

// members are the processes of the job that live, seen after the call.
func (d *subreaperTree) members() (all []proc) {
	orphans := d.orphans()
	d.platform.engine.bounded(func() { all = d.below(append(d.main(), orphans...)) })
	return all
}

// hanging are the main process and what descends from it.
func (d *subreaperTree) hanging() (all []proc) {
	d.platform.engine.bounded(func() { all = d.below(d.main()) })
	return all
}

// main is the main process, if it lives.
func (d *subreaperTree) main() []proc {
	if d.job == nil || d.job.proc.reaped() {
		return nil
	}
	p, ok := statProc(d.platform.sys, d.job.proc.pid)
	if !ok || p.dead() {
		return nil
	}
	return []proc{p}
}

func (d *subreaperTree) signal(sigs ...syscall.Signal) {
	d.send(d.members(), sigs...)
}

func (d *subreaperTree) send(procs []proc, sigs ...syscall.Signal) {
	d.platform.engine.bounded(func() {
		for _, p := range procs {
			signalProc(d.platform.sys, p, sigs...)
		}
	})
}

func (*subreaperTree) atOnce() bool { return false }

// kill stops whatever there is until nothing new appears, then kills it, and
// again, until nothing is left: who is stopped does not fork. What hangs below
// the main process goes first, without a look at the orphans of all jobs.
func (d *subreaperTree) kill() {
	stop := func(procs []proc) { d.send(procs, unix.SIGSTOP) }
	d.send(freeze(d.hanging, stop), unix.SIGKILL)
	for range killRounds {
		procs := freeze(d.members, stop)
		if len(procs) == 0 {
			return
		}
		d.send(procs, unix.SIGKILL)
		if !d.platform.rest(killPause) {
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

func (d *subreaperTree) pids() []int { return pidsOf(d.members()) }

func (d *subreaperTree) survivors() []messages.Survivor {
	return survivorsOf(d.platform.sys, d.pids())
}

func pidsOf(procs []proc) []int {
	pids := make([]int, len(procs))
	for i, p := range procs {
		pids[i] = p.pid
	}
	return pids
}

// oom cannot be known: nobody counts.
func (d *subreaperTree) oom(messages.ExitStatus, int64) messages.Tristate { return messages.Unknown }

func (d *subreaperTree) end() { d.platform.orphans.forget(d.job) }
