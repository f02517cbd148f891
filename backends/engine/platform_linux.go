package engine

import (
	"os"
	"slices"
	"strconv"
	"sync"
	"time"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/messages"
)

// platform is the engine's access to Linux: forks, exits and trees.
type platform struct {
	engine       *Local
	sys          Sys
	null         int      // /dev/null
	self         proc     // this process
	cgroups      *cgroups // nil: none; noCgroup says why
	memory       *sharedMemory
	jobOOM       int    // oom_score_adj of jobs
	jobOOMText   []byte // of jobOOM; empty: inherited
	pollset      *pollset
	processes    *processTable
	inputWatch   *inputWatch
	reaper       *reaper        // nil: only the engine's own children are reaped
	orphans      *orphanScanner // set with reaper
	forkers      *forkPool
	probed       Features      // what every engine needs to know; features has the rest
	reads        func() string // see canSeeReads
	groupSignal  func() bool   // see canSignalGroups
	claim        sync.Once     // of Options.Claim
	forks        *inflightForks
	inheritedFDs []int                  // descriptors that a child would inherit, in order
	limits       func() messages.Limits // of each child
	masked       bool                   // this process was started with blocked signals; only with Options.Own
}

func newHost(e *Local) (*platform, error) {
	unseen := noProcesses()
	if unseen != "" {
		e.opt.Sys = foreignProcfs{e.opt.Sys}
	}
	h := &platform{engine: e, sys: e.opt.Sys}
	var err error
	if h.null, err = h.sys.OpenAt(unix.AT_FDCWD, os.DevNull, unix.O_RDONLY); err != nil {
		return nil, err
	}
	h.self, _ = statProc(h.sys, os.Getpid())
	h.self.pid, h.self.threads = os.Getpid(), 0
	h.probed = Features{Own: e.opt.Own, Isolation: messages.Group, NoProcesses: unseen}
	h.pollset, h.processes, h.forks = newPollset(h), &processTable{h: h}, newForks()
	h.forkers, h.inputWatch = newForkers(h), newAwaits(h)
	own := readCgroupTexts(h.sys)
	h.findCgroups(own)
	h.memory = newSharedMemory(h, own)
	h.findJobOOM(own)
	h.limits = sync.OnceValue(func() messages.Limits { return limitsOfChildren(e.opt.SoftLimits) })
	h.reads = sync.OnceValue(h.canSeeReads)
	h.groupSignal = sync.OnceValue(h.canSignalGroups)
	h.sealDescriptors()
	if e.opt.Own {
		if err := h.sys.Subreaper(); err != nil {
			h.probed.NoSubreaper = err.Error()
		} else {
			h.probed.Subreaper = true
			if unseen == "" {
				h.orphans = newOrphanScanner(h)
				h.orphans.escapees.open()
			}
		}
		h.clearSignals()
		h.reaper = newOwnReaper(h)
	}
	h.describeTrees()
	return h, nil
}

// findCgroups makes the engine's cgroups, if possible.
func (h *platform) findCgroups(own cgroupTexts) {
	if h.engine.opt.NoCgroup {
		h.probed.NoCgroup = "switched off"
		return
	}
	c, err := newCgroups(h, own)
	if err != nil {
		h.probed.NoCgroup = err.Error()
		return
	}
	h.cgroups = c
	h.probed.Cgroup = c.path
}

// sealDescriptors ensures that jobs inherit 0, 1 and 2 only. With Own every other
// descriptor becomes close-on-exec. A library's host keeps its flags, and each child
// closes the rest.
func (h *platform) sealDescriptors() {
	if h.engine.opt.Own && h.sys.CloseRangeOnExec(3) == nil {
		return
	}
	names, err := listDir(h.sys, unix.AT_FDCWD, "/proc/self/fd")
	if err != nil {
		return
	}
	for _, n := range names {
		fd, err := strconv.Atoi(n)
		if err != nil || fd < 3 {
			continue
		}
		if flags, err := unix.FcntlInt(uintptr(fd), unix.F_GETFD, 0); err == nil && flags&unix.FD_CLOEXEC == 0 {
			h.inheritedFDs = append(h.inheritedFDs, fd)
		}
	}
	slices.Sort(h.inheritedFDs)
}

const (
	// maxClosed bounds the descriptors that are closed one by one in each child.
	maxClosed = 1024
	// forkRoom is how many numbers above those a child needs: the Go runtime moves its
	// descriptors there.
	forkRoom = 8
)

// closed returns the number below which a child closes all descriptors but its own.
// Those above maxClosed or the limit become close-on-exec in the host, too, so that
// jobs neither inherit them nor fail to start.
func (h *platform) closed() int {
	below := 3
	if len(h.inheritedFDs) == 0 {
		return below
	}
	most := maxClosed
	var limit unix.Rlimit
	if unix.Getrlimit(unix.RLIMIT_NOFILE, &limit) == nil {
		most = int(min(limit.Cur-min(limit.Cur, forkRoom), maxClosed))
	}
	for _, fd := range h.inheritedFDs {
		if fd < most {
			below = fd + 1
			continue
		}
		_, _ = unix.FcntlInt(uintptr(fd), unix.F_SETFD, unix.FD_CLOEXEC)
	}
	return below
}

// hasExited reports whether the main process is a zombie or was reaped.
func (h *platform) hasExited(r *mainProcess) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return true
	}
	var info unix.Siginfo
	err := h.sys.Waitid(unix.P_PID, r.pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT)
	return err == nil && infoPid(&info) == r.pid && isExit(&info)
}

// takeStop takes the report of a stop of a child that has asked for a trace (PTRACE_TRACEME):
// waits get it although they ask for exits, and not those of later children. The process
// remains stopped: only KILL reaches it, as below any parent that is not a debugger.
func (h *platform) takeStop(pid int) bool {
	var info unix.Siginfo
	return h.sys.Waitid(unix.P_PID, pid, &info, unix.WSTOPPED|unix.WNOHANG) == nil
}

// describe returns one process as a survivor.
func (h *platform) describe(pid int) []messages.Survivor { return survivorsOf(h.sys, []int{pid}) }

// ends reports whether a process has exited or is certain to. One that cannot be read has exited.
func (h *platform) ends(pid int) bool {
	p, ok := statProc(h.sys, pid)
	return !ok || p.dead() || p.doomed(h.sys)
}

// verify looks for processes of a stopped job that have left their cgroup. They are
// still descendants of this process, and are killed. killCheck reports those that survive.
func (h *platform) verify(j *job, verified func()) {
	if h.orphans == nil {
		verified()
		return
	}
	h.orphans.ask(j, func(orphans []proc) {
		if len(orphans) == 0 {
			verified()
			return
		}
		h.engine.run(j, func() {
			(&subreaperTree{platform: h, job: j}).kill()
			h.orphans.wait(j, verified)
		})
	})
}

// endOrphans ends the scans, and kills the orphans of no job if no other process is left. It
// returns those that do not end.
func (h *platform) endOrphans(alone bool) []messages.Survivor {
	if h.orphans == nil {
		return nil
	}
	return h.orphans.close(alone)
}

// close ends the platform's goroutines. The reaper waits on while survivors are left.
func (h *platform) close(survivors bool) {
	if h.reaper != nil {
		h.reaper.close(!survivors)
	}
	h.pollset.close()
	h.forkers.close()
	if h.cgroups != nil {
		h.cgroups.close()
	}
}

// release closes the descriptors of the engine's goroutines after these have ended.
// Earlier, a reused number could make a removal reach another directory. A reaper that
// still waits keeps them.
func (h *platform) release() {
	if h.cgroups != nil {
		h.cgroups.remove()
	}
	if h.reaper != nil && !h.reaper.ended() {
		return
	}
	if h.cgroups != nil {
		h.cgroups.shut()
	}
	h.memory.close()
	if h.orphans != nil {
		h.orphans.escapees.close()
	}
	_ = h.sys.Close(h.null)
}

// env returns the environment of a job, with the tag that identifies orphans.
func (h *platform) env(spec *backends.Spec) []string {
	if h.orphans == nil {
		return spec.Env
	}
	return tagged(spec.Env, h.engine.opt.Node, spec.ID)
}

// pollFirst and pollLast pace polling where there is no event.
const (
	pollFirst = 20 * time.Millisecond
	pollLast  = 2 * time.Second
)

// poll calls look at growing intervals until it returns true or the engine ends. It
// replaces missing events: of a cgroup without a watch (user.max_inotify_watches), or
// of a process that is not our child and has no pidfd.
func (h *platform) poll(j *job, look func() bool) {
	h.engine.run(j, func() {
		for pause := pollFirst; !look(); pause = min(2*pause, pollLast) {
			t := time.NewTimer(pause)
			select {
			case <-t.C:
			case <-h.engine.done:
				t.Stop()
				return
			}
		}
	})
}
