package engine

import (
	"strconv"
	"strings"

	"golang.org/x/sys/unix"
)

// sweep kills the jobs of dead engines: they are lost, and must not run on. It skips
// engines of another pid namespace, whose state is not visible here.
func (c *cgroups) sweep() {
	if c.platform.probed.NoProcesses != "" {
		return
	}
	names, _ := listDir(c.platform.sys, c.parent, ".")
	_, _, space := ownerOf(c.name)
	for _, n := range names {
		pid, start, theirs := ownerOf(n)
		if n == c.name || pid == 0 || theirs != space {
			continue
		}
		if c.mayLive(pid, start) {
			continue
		}
		node := strings.TrimPrefix(n[:strings.LastIndexByte(n, '-')], "troupe-")
		c.platform.probed.Swept = append(c.platform.probed.Swept, node)
		c.clear(n)
	}
}

// mayLive reports whether the process that has made a base directory may live. One that cannot be
// looked at may, as without a descriptor, and so may one that has its pid, if it could not read its
// own start time: the jobs are another engine's.
func (c *cgroups) mayLive(pid int, start uint64) bool {
	p, err := readProc(c.platform.sys, pid)
	if err != nil {
		return !isGone(err)
	}
	return start == 0 || p.start == start
}

// ownerOf parses the name of a base directory; pid 0: it is another name.
func ownerOf(name string) (pid int, start uint64, space string) {
	rest, ok := strings.CutPrefix(name, "troupe-")
	i := strings.LastIndexByte(rest, '-')
	if !ok || i < 0 {
		return 0, 0, ""
	}
	f := strings.Split(rest[i+1:], ".")
	if len(f) != 3 {
		return 0, 0, ""
	}
	pid, err := strconv.Atoi(f[0])
	if err != nil {
		return 0, 0, ""
	}
	if start, err = strconv.ParseUint(f[1], 10, 64); err != nil {
		return 0, 0, ""
	}
	return pid, start, f[2]
}

// clear kills the processes in a dead engine's cgroups, and removes these when empty.
func (c *cgroups) clear(name string) {
	sys := c.platform.sys
	if fd, err := sys.OpenAt(c.parent, name+"/cgroup.kill", unix.O_WRONLY); err == nil {
		_, _ = sys.Write(fd, []byte("1"))
		_ = sys.Close(fd)
	} else {
		for _, pid := range procsBelow(sys, c.parent, name, maxCgroupDepth) {
			if p, ok := statProc(sys, pid); ok {
				signalProc(sys, p, unix.SIGKILL)
			}
		}
	}
	parent, err := sys.OpenAt(c.parent, ".", unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return
	}
	c.platform.engine.background(func() {
		defer sys.Close(parent)
		pause := removePause
		for range removeTries {
			removeCgroup(sys, parent, name)
			var st unix.Stat_t
			if sys.StatAt(parent, name, &st) != nil || !c.platform.rest(pause) {
				return
			}
			pause *= 2
		}
	})
}
