package engine

import (
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// subreaperTree tracks a job by descent: its main process, its orphans, which become
// children of this subreaper, and their descendants. With job nil it is all descendants
// of this process that belong to no job.
type subreaperTree struct {
	platform *platform
	job      *job
}

func (d *subreaperTree) isolation() messages.Isolation { return messages.Subreaper }

func (d *subreaperTree) path() string { return "" }

// count counts at the next scan. The main process was reaped: orphans and their
// descendants are left.
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

// orphans returns the topmost processes of the job without the main one, seen after the
// call.
func (d *subreaperTree) orphans() []proc {
	if d.job == nil {
		found, _ := d.platform.orphans.look()
		return found[nil]
	}
	seen := make(chan []proc, 1)
	d.platform.orphans.ask(d.job, func(tops []proc) { seen <- tops })
	return <-seen
}

// below adds the descendants of processes. A fork meanwhile may be missed: only stopped
// processes can be listed completely.
func (d *subreaperTree) below(tops []proc) []proc {
	all := tops
	seen := make(map[int]bool, len(tops))
	for _, p := range tops {
		seen[p.pid] = true
	}
	for i := 0; i < len(all); i++ {
		pids, _ := children(d.platform.sys, all[i]) // a missed process becomes an orphan later
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

// members returns the live processes of the job, seen after the call.
func (d *subreaperTree) members() (all []proc) {
	orphans := d.orphans()
	d.platform.engine.bounded(func() { all = d.below(append(d.main(), orphans...)) })
	return all
}

// hanging returns the main process and its descendants.
func (d *subreaperTree) hanging() (all []proc) {
	d.platform.engine.bounded(func() { all = d.below(d.main()) })
	return all
}

// main returns the main process, if it lives.
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
	d.platform.send(d.members(), sigs...)
}

func (*subreaperTree) atOnce() bool { return false }

// kill stops processes until no new ones appear, then kills them, and repeats: a
// stopped process does not fork. Descendants of the main process go first, without a
// scan for orphans.
func (d *subreaperTree) kill() {
	stop := func(procs []proc) { d.platform.send(procs, unix.SIGSTOP) }
	d.platform.send(freeze(d.hanging, stop), unix.SIGKILL)
	for range killRounds {
		procs := freeze(d.members, stop)
		if len(procs) == 0 {
			return
		}
		d.platform.send(procs, unix.SIGKILL)
		if !d.platform.rest(killPause) {
			return
		}
	}
}

// freeze stops processes until list returns no new ones, and returns all.
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

func (d *subreaperTree) oom(end messages.ExitStatus, stopped bool, before int64) messages.Tristate {
	return d.platform.memory.judge(end, stopped, before)
}

func (d *subreaperTree) end() { d.platform.orphans.forget(d.job) }
