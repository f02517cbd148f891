package spill

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"sync"

	"golang.org/x/sys/unix"
)

// Names within the root directory of a user.
const (
	sessionsDir = "sessions"
	keptDir     = "kept"
	lockName    = "owner.lock"
	deadSuffix  = ".dead" // a node's directory that is being removed
	newSuffix   = ".new"  // an unfinished file or directory
)

// nodeDirs are the directories of a node: <root>/<node>/sessions/<session>/ for logs
// and <root>/kept/ for files that outlive the node. Each is made when it is first
// needed and must belong to this user alone (0700, no symbolic link). The store holds
// the lock of the node's directory while it is open. A process that can take it knows
// that the owner is dead.
type nodeDirs struct {
	sys         Sys
	given, temp string
	node        string

	mu     sync.Mutex
	closed bool
	path   string  // path of the root
	root   *handle // nil until it is needed, like the next two
	home   *handle // directory of the node
	lock   *handle
}

// dirRef names a directory for files: of a session, of kept files, or outside the
// store.
type dirRef struct {
	group   string
	kept    bool
	outside string // path of a directory outside the store
	found   bool   // the file outside is older than this store, which never removes it
}

// open opens the directory of p, and makes it if create is set. The caller frees it.
func (t *nodeDirs) open(p dirRef, create bool) (*handle, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return nil, ErrClosed
	}
	if p.outside != "" {
		return t.visit(p.outside, create)
	}
	if p.kept {
		if err := t.needRoot(); err != nil {
			return nil, err
		}
		return t.descend(t.root.fd, keptDir, create)
	}
	if err := t.needHome(); err != nil {
		return nil, err
	}
	sessions, err := t.descend(t.home.fd, sessionsDir, create)
	if err != nil {
		return nil, err
	}
	defer sessions.free()
	return t.descend(sessions.fd, p.group, create)
}

// filePath returns the path of a file for display. Files are opened by directory.
func (t *nodeDirs) filePath(p dirRef, name string) string {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case p.outside != "":
		return filepath.Join(p.outside, name)
	case p.kept:
		return filepath.Join(t.path, keptDir, name)
	}
	return filepath.Join(t.path, t.node, sessionsDir, p.group, name)
}

// descend opens the directory name in dir, and makes it if create is set.
func (t *nodeDirs) descend(dir int, name string, create bool) (*handle, error) {
	const flags = unix.O_RDONLY | unix.O_DIRECTORY
	fd, err := t.sys.Open(dir, name, flags, 0)
	if err == unix.ENOENT && create {
		if err = t.sys.Mkdir(dir, name, 0o700); err != nil && err != unix.EEXIST {
			return nil, fmt.Errorf("cannot make the directory %s: %w", name, err)
		}
		fd, err = t.sys.Open(dir, name, flags, 0)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot open the directory %s: %w", name, err)
	}
	h := newHandle(t.sys, fd)
	if err := t.private(fd, name); err != nil {
		h.free()
		return nil, err
	}
	return h, nil
}

// errNotOurs reports a directory that other users could change.
var errNotOurs = errors.New("is not a directory that belongs to this user alone (mode 0700)")

func (t *nodeDirs) private(fd int, name string) error {
	st, err := t.sys.Stat(fd)
	if err != nil {
		return err
	}
	if !st.Dir || int(st.UID) != os.Geteuid() || st.Perm&0o077 != 0 {
		return fmt.Errorf("%s %w", name, errNotOurs)
	}
	return nil
}

// check returns why the given root cannot hold files, if that is already known: it
// belongs to other users too, or cannot be written or made. It makes nothing.
func (t *nodeDirs) check() error {
	if t.given == "" {
		return nil
	}
	h, err := t.descend(unix.AT_FDCWD, t.given, false)
	where := t.given
	switch {
	case errors.Is(err, unix.ENOENT):
		where = filepath.Dir(t.given)
	case err != nil:
		return err
	default:
		h.free()
	}
	if err := unix.Access(where, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("cannot create files in the directory %s: %w", where, err)
	}
	return nil
}

// needRoot opens the root, again if it was deleted.
func (t *nodeDirs) needRoot() error {
	if t.root != nil {
		st, err := t.sys.Stat(t.root.fd)
		if err != nil || st.Links > 0 {
			return err
		}
		t.root.free()
		t.root = nil
	}
	path, h, err := t.findRoot(true)
	if err != nil {
		return err
	}
	t.path, t.root = path, h
	return nil
}

// findRoot opens the root: the given one, or the first suitable name in the temporary
// directory.
func (t *nodeDirs) findRoot(create bool) (string, *handle, error) {
	if t.given != "" {
		h, err := t.descend(unix.AT_FDCWD, t.given, create)
		return t.given, h, err
	}
	path := filepath.Join(t.temp, "troupe-"+strconv.Itoa(os.Geteuid()))
	h, err := t.descend(unix.AT_FDCWD, path, create)
	if err == nil || errors.Is(err, unix.ENOENT) || !taken(err) {
		return path, h, err
	}
	others, _ := filepath.Glob(path + "-*")
	for _, path := range others {
		if h, err := t.descend(unix.AT_FDCWD, path, false); err == nil {
			return path, h, nil
		}
	}
	if !create {
		return "", nil, err
	}
	if path, err = os.MkdirTemp(t.temp, filepath.Base(path)+"-"); err != nil {
		return "", nil, err
	}
	h, err = t.descend(unix.AT_FDCWD, path, false)
	return path, h, err
}

// taken reports whether a name exists that this user cannot use.
func taken(err error) bool {
	return errors.Is(err, errNotOurs) || errors.Is(err, unix.ENOTDIR) || errors.Is(err, unix.ELOOP) ||
		errors.Is(err, unix.EACCES)
}

// dir makes the node's directory and returns its path.
func (t *nodeDirs) dir() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return "", ErrClosed
	}
	if err := t.needHome(); err != nil {
		return "", err
	}
	return filepath.Join(t.path, t.node), nil
}

// close removes the node's directory and releases its lock.
func (t *nodeDirs) close() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.closed = true
	var err error
	switch {
	case t.home != nil:
		err = removeNode(t.path, t.node)
	case t.root != nil:
		err = removeAll(t.path, t.node+newSuffix) // left if needHome failed
	}
	for _, h := range []*handle{t.home, t.lock, t.root} {
		if h != nil {
			h.free()
		}
	}
	t.root, t.home, t.lock = nil, nil, nil
	return err
}

// needHome makes and locks the node's directory, again if it was deleted. The directory
// gets its name after the lock is taken. If a process finds the name and can take the
// lock, the owner is dead.
func (t *nodeDirs) needHome() error {
	if t.home != nil {
		st, err := t.sys.Stat(t.home.fd)
		if err != nil || st.Links > 0 {
			return err
		}
		t.home.free()
		t.lock.free()
		t.home, t.lock = nil, nil
	}
	if err := t.needRoot(); err != nil {
		return err
	}
	home, err := t.descend(t.root.fd, t.node+newSuffix, true)
	if err != nil {
		return err
	}
	lock, err := t.takeLock(home.fd)
	if err != nil {
		home.free()
		return err
	}
	if err := t.sys.Rename(t.root.fd, t.node+newSuffix, t.root.fd, t.node); err != nil {
		home.free()
		lock.free()
		return fmt.Errorf("cannot make the directory %s: %w", t.node, err)
	}
	t.home, t.lock = home, lock
	return nil
}

func (t *nodeDirs) takeLock(home int) (*handle, error) {
	fd, err := t.sys.Open(home, lockName, unix.O_RDWR|unix.O_CREAT, 0o600)
	if err != nil {
		return nil, fmt.Errorf("cannot make %s: %w", lockName, err)
	}
	err = t.sys.Lock(fd)
	if err == nil {
		return newHandle(t.sys, fd), nil
	}
	t.sys.Close(fd)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return nil, fmt.Errorf("node %s belongs to another process that is alive", t.node)
	}
	return nil, fmt.Errorf("cannot lock %s: %w", lockName, err)
}

// inherit takes the lock of the node's directory and returns its path, "" if there is
// none.
func (t *nodeDirs) inherit() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if err := t.needRoot(); err != nil {
		return "", err
	}
	home, err := t.descend(t.root.fd, t.node, false)
	if errors.Is(err, unix.ENOENT) {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	lock, err := t.takeLock(home.fd)
	if err != nil {
		home.free()
		return "", err
	}
	t.home, t.lock = home, lock
	return filepath.Join(t.path, t.node), nil
}

// errNotMade reports that the store does not create a named file again after it was
// deleted.
var errNotMade = errors.New("a file that was named for a log is created only once")

// visit opens a directory outside the store, in which the store makes only the named
// file of a log. It rejects a directory in which other users could replace that file.
func (t *nodeDirs) visit(path string, create bool) (*handle, error) {
	if create {
		return nil, errNotMade
	}
	fd, err := t.sys.Open(unix.AT_FDCWD, path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, fmt.Errorf("cannot open the directory %s: %w", path, err)
	}
	h := newHandle(t.sys, fd)
	var st unix.Stat_t
	if err := unix.Fstat(fd, &st); err != nil {
		h.free()
		return nil, err
	}
	if uint32(st.Mode)&(unix.S_ISVTX|0o002) == 0o002 {
		h.free()
		return nil, fmt.Errorf("the directory %s cannot hold a log: all users may replace files in it", path)
	}
	return h, nil
}

// openDir opens the directory of p. If the process has no descriptor left, it closes idle
// ones and tries again, like openFile.
func (d *Disk) openDir(p dirRef, create bool) (*handle, error) {
	h, err := d.tree.open(p, create)
	if exhausted(err) {
		d.cache.shrink()
		h, err = d.tree.open(p, create)
	}
	return h, err
}

func (d *Disk) openFile(dir *handle, name string, flags int) (*handle, error) {
	fd, err := d.sys.Open(dir.fd, name, flags, 0o600)
	if exhausted(err) {
		d.cache.shrink()
		fd, err = d.sys.Open(dir.fd, name, flags, 0o600)
	}
	if err != nil {
		return nil, err
	}
	return newHandle(d.sys, fd), nil
}
