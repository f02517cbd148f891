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

// platform is what Linux gives the engine: forks, waiting, trees.
type platform struct {
	engine       *Local
	sys          Sys
	null         int      // /dev/null
	self         proc     // this process
	cgroups      *cgroups // nil: none, and noCgroup says why
	pollset      *pollset
	processes    *processTable
	inputWatch   *inputWatch
	reaper       *reaper        // nil: we wait for what we started only
	orphans      *orphanScanner // with own
	forkers      *forkPool
	probed       Features
	claim        sync.Once // of Options.Claim
	forks        *inflightForks
	inheritedFDs []int // descriptors that a child would inherit, the lowest first
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
	h.findCgroups()
	h.sealDescriptors()
	if e.opt.Own {
		if err := h.sys.Subreaper(); err != nil {
			h.probed.NoSubreaper = err.Error()
		} else {
			h.probed.Subreaper = true
			if unseen == "" {
				h.orphans = newOrphanScanner(h)
			}
		}
		h.reaper = newOwnReaper(h)
	}
	h.probe()
	return h, nil
}

// findCgroups makes the place for cgroups, if there may be one.
func (h *platform) findCgroups() {
	if h.engine.opt.NoCgroup {
		h.probed.NoCgroup = "switched off"
		return
	}
	c, err := newCgroups(h)
	if err != nil {
		h.probed.NoCgroup = err.Error()
		return
	}
	h.cgroups = c
	h.probed.Cgroup = c.path
}

// sealDescriptors sees to it that jobs inherit 0, 1 and 2 and nothing else. Where
// the process is ours every other descriptor becomes close-on-exec; a library's
// host keeps its flags, and those it left open are closed in each child.
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
	// forkRoom is how many numbers a child needs behind those: the Go runtime moves
	// what it is given out of the way.
	forkRoom = 8
)

// closed is below which descriptors a child closes all but its own. Those that it cannot
// reach, since there are too many before them, or its limit is below them, become
// close-on-exec in the host, too: better than that jobs have them, or that none starts.
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

// hasExited reports whether the main process is a zombie that nobody reaped.
func (h *platform) hasExited(r *mainProcess) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.gone {
		return true
	}
	var info unix.Siginfo
	err := h.sys.Waitid(unix.P_PID, r.pid, &info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT)
	return err == nil && infoPid(&info) == r.pid
}

// describe names one process, whatever holds it.
func (h *platform) describe(pid int) []messages.Survivor { return survivorsOf(h.sys, []int{pid}) }

// ends reports whether a process has ended, or needs nothing but a processor to.
func (h *platform) ends(pid int) bool {
	p, ok := statProc(h.sys, pid)
	return !ok || p.dead() || p.doomed(h.sys)
}

// verify looks once more for processes of a stopped job that are no longer
// where they were born: with the rights for it a process can leave its cgroup.
// They are descendants of ours still, and are ended.
func (h *platform) verify(j *job, verified func()) {
	if h.orphans == nil {
		verified()
		return
	}
	h.orphans.ask(j, func(strays []proc) {
		if len(strays) == 0 {
			verified()
			return
		}
		h.engine.run(j, func() {
			(&subreaperTree{platform: h, job: j}).kill()
			verified()
		})
	})
}

// close ends what the host runs. Survivors keep the reaper of a process of our
// own waiting.
func (h *platform) close(survivors bool) []messages.Survivor {
	var left []messages.Survivor
	if h.orphans != nil {
		left = h.orphans.close(!survivors)
	}
	if h.reaper != nil {
		h.reaper.close(!survivors && len(left) == 0)
	}
	h.pollset.close()
	h.forkers.close()
	if h.cgroups != nil {
		h.cgroups.close()
	}
	return left
}

// release gives back the descriptors that the engine's goroutines use, when these
// have ended: its number may be somebody else's file then, and what is removed
// below a cgroup would be removed there. A reaper that still waits keeps them.
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
	_ = h.sys.Close(h.null)
}

// env is the environment of a job: whole, as it was given, but for the tag by
// which a process of ours finds its orphans.
func (h *platform) env(spec *backends.Spec) []string {
	if h.orphans == nil {
		return spec.Env
	}
	return tagged(spec.Env, h.engine.opt.Node, spec.ID)
}

// pollFirst and pollLast pace the few looks for which there is no event.
const (
	pollFirst = 20 * time.Millisecond
	pollLast  = 2 * time.Second
)

// poll calls look, ever more seldom, until it reports true or the engine ends. It
// is for what the kernel tells nobody of: a cgroup that empties when no watch of
// its events is to be had (user.max_inotify_watches), and the end of a process
// that is not our child when no pidfd of it can be opened or waited for (an old
// kernel, no descriptor left).
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
