package engine

import (
	"golang.org/x/sys/unix"

	"troupe/messages"
)

// describeTrees records how jobs are tracked. Other features are probed when they are asked for.
func (h *platform) describeTrees() {
	f := &h.probed
	f.Umask = true // any kernel with cgroup v2; others fail at the start of the job
	f.Inherited = h.closed() - 3
	switch {
	case h.cgroups != nil:
		f.Isolation = messages.InCgroup
		f.CgroupKill, f.Memory = h.cgroups.canEnd, h.cgroups.memory
	case h.orphans != nil:
		f.Isolation = messages.Subreaper
	}
	if !f.Memory && h.memory.oomKills() >= 0 {
		f.Memory, f.AllMemory = true, true
	}
}

// features probes what is left, and leaves nothing open.
func (h *platform) features() Features {
	f := h.probed
	if fd, err := h.sys.PidfdOpen(h.self.pid); err == nil {
		f.Pidfd = true
		_ = h.sys.Close(fd)
	}
	f.GroupSignal = h.groupSignal()
	if fd, err := h.sys.InotifyInit(); err == nil {
		f.Inotify = true
		_ = h.sys.Close(fd)
	}
	if _, err := readFile(h.sys, unix.AT_FDCWD, "/proc/thread-self/children"); err == nil {
		f.Children = true
	}
	f.Reads = h.reads()
	if r, w, err := h.sys.Pipe(); err == nil {
		f.LargePipes = h.sys.SetPipeSize(r, largePipe) == nil
		_ = h.sys.Close(r)
		_ = h.sys.Close(w)
	}
	f.NoTerminal, f.Spliced = h.probeTerminals()
	f.Terminals = f.NoTerminal == ""
	return f
}

// canSignalGroups reports whether a pidfd can signal a process group.
func (h *platform) canSignalGroups() bool {
	fd, err := h.sys.PidfdOpen(h.self.pid)
	if err != nil {
		return false
	}
	defer h.sys.Close(fd)
	return h.sys.PidfdSignal(fd, 0, unix.PIDFD_SIGNAL_PROCESS_GROUP) != unix.EINVAL
}
