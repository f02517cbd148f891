package engine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// cgroups is a directory of the cgroup v2 hierarchy. It has one cgroup for each live
// job, and a few emptied ones for the next jobs.
type cgroups struct {
	platform *platform
	path     string // <own cgroup>/troupe-<node>-<owner>
	parent   int    // descriptor of <own cgroup>
	base     int    // descriptor of path
	name     string
	memory   bool // the memory controller is enabled
	canEnd   bool // cgroup.kill exists

	last  atomic.Int64 // name of the newest cgroup
	open  atomic.Int64 // descriptors held by leased cgroups
	watch *cgroupEvents
	waste *cgroupRemover

	mu     sync.Mutex
	idle   []*cgroup
	failed int  // consecutive forks that failed for their cgroup
	off    bool // forks use no cgroup
}

const (
	// maxOpen bounds the live jobs that keep their cgroup's descriptor, which saves a lookup
	// for each call. There are not enough descriptors for 10,000 jobs.
	maxOpen = 256

	// maxSpoiled is how many consecutive forks may fail for their cgroup before cgroups are
	// no longer used.
	maxSpoiled = 3
)

func newCgroups(h *platform, of cgroupTexts) (*cgroups, error) {
	root, err := cgroupRoot(h, of)
	if err != nil {
		return nil, err
	}
	parent, err := h.sys.OpenAt(unix.AT_FDCWD, root, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, fmt.Errorf("%s cannot be opened: %w", root, err)
	}
	c := &cgroups{platform: h, parent: parent, base: -1, name: "troupe-" + h.engine.opt.Node + "-" + h.owner()}
	c.path = filepath.Join(root, c.name)
	c.waste = &cgroupRemover{all: c}
	c.sweep()
	if err := c.make(); err != nil {
		c.remove()
		c.shut()
		return nil, err
	}
	c.watch = newCgroupEvents(h)
	return c, nil
}

// make makes the base directory and tests one cgroup in it.
func (c *cgroups) make() error {
	sys := c.platform.sys
	if err := sys.MkdirAt(c.parent, c.name); err != nil && err != unix.EEXIST {
		return fmt.Errorf("no cgroup can be made in %s: %w", filepath.Dir(c.path), err)
	}
	var err error
	if c.base, err = sys.OpenAt(c.parent, c.name, unix.O_RDONLY|unix.O_DIRECTORY); err != nil {
		return fmt.Errorf("%s cannot be opened: %w", c.path, err)
	}
	first, err := c.create()
	if err != nil {
		return fmt.Errorf("no cgroup can be made in %s: %w", c.path, err)
	}
	var st unix.Stat_t
	c.canEnd = sys.StatAt(first.fd, "cgroup.kill", &st) == nil
	c.memory = sys.StatAt(first.fd, "memory.events", &st) == nil
	c.idle = append(c.idle, first)
	return nil
}

// cgroupRoot returns the directory of this process's cgroup, found by
// /proc/self/mountinfo.
func cgroupRoot(h *platform, of cgroupTexts) (string, error) {
	if root := h.engine.opt.CgroupRoot; root != "" {
		return root, nil
	}
	dir, err := of.dir("")
	if err == nil && dir == "" {
		err = errors.New("no cgroup v2 hierarchy is mounted, or the own cgroup is not in it")
	}
	return dir, err
}

// cgroupTexts are the texts in which the kernel shows the cgroups of this process.
type cgroupTexts struct {
	mounts, member string
	err            error // one cannot be read
}

func readCgroupTexts(sys Sys) cgroupTexts {
	mounts, err := readFile(sys, unix.AT_FDCWD, "/proc/self/mountinfo")
	if err != nil {
		return cgroupTexts{err: fmt.Errorf("the mounts cannot be read: %w", err)}
	}
	member, err := readFile(sys, unix.AT_FDCWD, "/proc/self/cgroup")
	if err != nil {
		return cgroupTexts{err: fmt.Errorf("the own cgroup cannot be read: %w", err)}
	}
	return cgroupTexts{mounts: string(mounts), member: string(member)}
}

// dir returns the directory of this process's cgroup of version 1 with a controller, or, if
// that is "", of version 2; "": not visible.
func (t cgroupTexts) dir(controller string) (string, error) {
	return cgroupDir(t.mounts, t.member, controller), t.err
}

// cgroupDir finds that directory in the text of the two files.
func cgroupDir(mounts, member, controller string) string {
	for line := range strings.Lines(member) {
		// 0::/user.slice, 4:memory:/user.slice
		id := strings.SplitN(strings.TrimRight(line, "\n"), ":", 3)
		if len(id) < 3 || !slices.Contains(strings.Split(id[1], ","), controller) {
			continue
		}
		for line := range strings.Lines(mounts) {
			// 41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
			before, after, _ := strings.Cut(line, " - ")
			f := strings.Fields(before)
			if len(f) < 5 || !mounted(strings.Fields(after), controller) {
				continue
			}
			below, ok := strings.CutPrefix(id[2], strings.TrimRight(f[3], "/"))
			if ok && !strings.HasPrefix(below, "/..") {
				return filepath.Join(unescape(f[4]), below)
			}
		}
	}
	return ""
}

// mounted reports whether a mount, of which mountinfo shows type, source and options, is that of
// a controller.
func mounted(f []string, controller string) bool {
	switch {
	case len(f) < 3:
		return false
	case controller == "":
		return f[0] == "cgroup2"
	}
	return f[0] == "cgroup" && slices.Contains(strings.Split(f[2], ","), controller)
}

// unescape decodes the octal escapes of mountinfo.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// owner identifies this process beyond the reuse of its pid: pid, start time and pid
// namespace.
func (h *platform) owner() string {
	space := "0"
	if link, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		space = strings.Trim(strings.TrimPrefix(link, "pid:"), "[]")
	}
	return strconv.Itoa(h.self.pid) + "." + strconv.FormatUint(h.self.start, 10) + "." + space
}

// take returns an empty cgroup, open; nil: none is available.
func (c *cgroups) take() *cgroup {
	c.mu.Lock()
	if c.off {
		c.mu.Unlock()
		return nil
	}
	if n := len(c.idle); n > 0 {
		g := c.idle[n-1]
		c.idle = c.idle[:n-1]
		c.mu.Unlock()
		return g
	}
	c.mu.Unlock()
	g, err := c.create()
	if err != nil {
		c.platform.engine.report("", fmt.Errorf("a job starts without a cgroup: %w", err))
		return nil
	}
	return g
}

func (c *cgroups) create() (*cgroup, error) {
	name := strconv.FormatInt(c.last.Add(1), 10)
	if err := c.platform.sys.MkdirAt(c.base, name); err != nil {
		return nil, err
	}
	g, err := c.openAt(name)
	if err != nil {
		_ = c.platform.sys.RmdirAt(c.base, name)
	}
	return g, err
}

// room reports whether another emptied cgroup would be kept.
func (c *cgroups) room() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	return !c.off && len(c.idle) < c.platform.engine.opt.PoolSize
}

// keep puts an emptied cgroup back, if there is room.
func (c *cgroups) keep(g *cgroup) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off || len(c.idle) >= c.platform.engine.opt.PoolSize {
		return false
	}
	c.idle = append(c.idle, g)
	return true
}

// forked records whether a fork into a cgroup succeeded.
func (c *cgroups) forked(ok bool) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if ok {
		c.failed = 0
		return
	}
	if c.failed++; c.failed >= maxSpoiled {
		c.off = true
	}
}

// close ends the pool. Other empty cgroups stay until remove.
func (c *cgroups) close() {
	c.mu.Lock()
	idle := c.idle
	c.idle, c.off = nil, true
	c.mu.Unlock()
	c.watch.close()
	for _, g := range idle {
		g.close()
		_ = c.platform.sys.RmdirAt(c.base, g.name)
	}
}

// remove removes the base directory with all empty cgroups.
func (c *cgroups) remove() { removeCgroup(c.platform.sys, c.parent, c.name) }

// shut closes the descriptors.
func (c *cgroups) shut() {
	sys := c.platform.sys
	if c.base >= 0 {
		_ = sys.Close(c.base)
	}
	_ = sys.Close(c.parent)
}

// maxCgroupDepth bounds the walk down cgroups that a job has made.
const maxCgroupDepth = 16

// removeCgroup removes a cgroup and those below it, if empty.
func removeCgroup(sys Sys, dir int, name string) {
	removeBelow(sys, dir, name, maxCgroupDepth)
}

func removeBelow(sys Sys, dir int, name string, depth int) {
	if depth == 0 || sys.RmdirAt(dir, name) == nil {
		return
	}
	for _, sub := range subCgroups(sys, dir, name) {
		removeBelow(sys, dir, name+"/"+sub, depth-1)
	}
	_ = sys.RmdirAt(dir, name)
}

// subCgroups lists the child cgroups. Any name may be a directory, so it checks each.
func subCgroups(sys Sys, dir int, name string) []string {
	names, _ := listDir(sys, dir, name)
	var subs []string
	for _, n := range names {
		var st unix.Stat_t
		if sys.StatAt(dir, name+"/"+n, &st) == nil && st.Mode&unix.S_IFMT == unix.S_IFDIR {
			subs = append(subs, n)
		}
	}
	return subs
}

// keyed returns the number after a key in a flat keyed file.
func keyed(text []byte, key string) (int64, bool) {
	for line := range bytes.Lines(text) {
		k, v, ok := bytes.Cut(bytes.TrimSpace(line), []byte(" "))
		if ok && string(k) == key {
			n, err := strconv.ParseInt(string(v), 10, 64)
			return n, err == nil
		}
	}
	return 0, false
}
