package engine

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"golang.org/x/sys/unix"
)

// cgroups is a directory of the cgroup v2 hierarchy with one cgroup for each
// live job and a few emptied ones that wait for the next.
type cgroups struct {
	platform *platform
	path     string // <own cgroup>/troupe-<node>-<owner>
	parent   int    // descriptor of <own cgroup>
	base     int    // descriptor of path
	name     string
	memory   bool // the memory controller counts in them
	canEnd   bool // cgroup.kill exists

	last  atomic.Int64 // name of the newest
	open  atomic.Int64 // descriptors that leased cgroups hold
	watch *cgroupEvents
	waste *cgroupRemover

	mu     sync.Mutex
	idle   []*cgroup
	failed int  // forks in a row that would not have one
	off    bool // forks go without
}

const (
	// maxOpen is how many live jobs keep the descriptor of their cgroup, which
	// saves a lookup for each call; 10,000 jobs have no descriptors for it.
	maxOpen = 256

	// maxSpoiled is how many forks in a row may fail for their cgroup before no
	// more is tried.
	maxSpoiled = 3
)

func newCgroups(h *platform) (*cgroups, error) {
	root, err := cgroupRoot(h)
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

// make makes the base directory and tries out one cgroup of it.
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

// cgroupRoot finds the directory of this process's own cgroup, never by a
// fixed path: /proc/self/mountinfo tells where the hierarchy is.
func cgroupRoot(h *platform) (string, error) {
	if root := h.engine.opt.CgroupRoot; root != "" {
		return root, nil
	}
	mounts, err := readFile(h.sys, unix.AT_FDCWD, "/proc/self/mountinfo")
	if err != nil {
		return "", fmt.Errorf("the mounts cannot be read: %w", err)
	}
	member, err := readFile(h.sys, unix.AT_FDCWD, "/proc/self/cgroup")
	if err != nil {
		return "", fmt.Errorf("the own cgroup cannot be read: %w", err)
	}
	dir := cgroupDir(string(mounts), string(member))
	if dir == "" {
		return "", errors.New("no cgroup v2 hierarchy is mounted, or the own cgroup is not in it")
	}
	return dir, nil
}

// cgroupDir finds the directory in the text of the two files; "" if it is not
// to be seen.
func cgroupDir(mounts, member string) string {
	for line := range strings.Lines(member) {
		own, ok := strings.CutPrefix(strings.TrimRight(line, "\n"), "0::")
		if !ok {
			continue
		}
		for line := range strings.Lines(mounts) {
			// 41 31 0:38 / /sys/fs/cgroup/unified rw,relatime - cgroup2 cgroup2 rw
			before, after, _ := strings.Cut(line, " - ")
			f := strings.Fields(before)
			if len(f) < 5 || !strings.HasPrefix(after, "cgroup2 ") {
				continue
			}
			below, ok := strings.CutPrefix(own, strings.TrimRight(f[3], "/"))
			if ok && !strings.HasPrefix(below, "/..") {
				return filepath.Join(unescape(f[4]), below)
			}
		}
	}
	return ""
}

// unescape takes back the octal escapes of mountinfo.
func unescape(s string) string {
	return strings.NewReplacer(`\040`, " ", `\011`, "\t", `\012`, "\n", `\134`, `\`).Replace(s)
}

// owner names this process beyond the reuse of its pid: pid, start time and
// the pid namespace in which both hold.
func (h *platform) owner() string {
	space := "0"
	if link, err := os.Readlink("/proc/self/ns/pid"); err == nil {
		space = strings.Trim(strings.TrimPrefix(link, "pid:"), "[]")
	}
	return strconv.Itoa(h.self.pid) + "." + strconv.FormatUint(h.self.start, 10) + "." + space
}

// take gives a cgroup with nobody in it, open; nil if there is none to be had.
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

// keep puts an emptied cgroup back, if there is room for it.
func (c *cgroups) keep(g *cgroup) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.off || len(c.idle) >= c.platform.engine.opt.PoolSize {
		return false
	}
	c.idle = append(c.idle, g)
	return true
}

// forked counts whether forks succeed in cgroups.
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

// close ends the pool. What is empty stays until remove.
func (c *cgroups) close() {
	c.mu.Lock()
	idle := c.idle
	c.idle, c.off = nil, true
	c.mu.Unlock()
	c.watch.close()
	for _, g := range idle {
		g.close()
	}
}

// remove removes the base directory with all that is empty in it.
func (c *cgroups) remove() { removeCgroup(c.platform.sys, c.parent, c.name) }

// shut closes the descriptors.
func (c *cgroups) shut() {
	sys := c.platform.sys
	if c.base >= 0 {
		_ = sys.Close(c.base)
	}
	_ = sys.Close(c.parent)
}

// maxCgroupDepth bounds the walk down a tree of cgroups, which a job may have
// made as deep as it liked.
const maxCgroupDepth = 16

// removeCgroup removes a cgroup and those below it, as far as they are empty.
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

// subCgroups lists the cgroups in one: directories have no dot in their name
// unless a job chose so, files always have.
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

// keyed finds the number behind a key in a flat keyed file.
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
