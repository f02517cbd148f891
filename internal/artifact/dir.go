package artifact

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/spill"
)

// claims is how often a Dir looks for a name that is free.
const claims = 16

// Dir is a directory of one session's files. It is made when it is first needed, by
// whichever call comes first, and again if somebody deletes it. It is ours alone
// (0700, never through a symbolic link), and its owner's lock is held until Close, so
// that Sweep can tell what the dead have left. It is safe for concurrent use.
//
// The directory is parent/name. If that is somebody else's, holds what no Dir has
// put there, or has an owner who is alive, it is parent/name-<random>. What a dead
// owner of the same name has left is taken over, so that paths that were told before
// lead somewhere.
type Dir struct {
	parent, name string

	mu     sync.Mutex
	closed bool
	used   string // the name in parent; "" while there is none
	root   *os.Root
	lock   *os.File
}

// NewDir names a directory; nothing is made. parent is an absolute path; it is made
// if it is missing, and may be one that others write to, like /tmp, if nobody can
// take away there what is ours.
func NewDir(parent, name string) (*Dir, error) {
	if !filepath.IsAbs(parent) {
		return nil, fmt.Errorf("the directory for the files of sessions is not an absolute path: %q", parent)
	}
	if !single(name) || strings.HasSuffix(name, spill.DeadSuffix) {
		return nil, fmt.Errorf("%q %w", name, ErrName)
	}
	return &Dir{parent: parent, name: name}, nil
}

// single says whether a name is that of a file in a directory.
func single(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00") && len(name) <= 255
}

// Path makes the directory and says where it is.
func (d *Dir) Path() (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.need(); err != nil {
		return "", err
	}
	return d.path(), nil
}

func (d *Dir) path() string { return filepath.Join(d.parent, d.used) }

// Create makes the file name, 0600, which must not be there. It makes the directory
// if need be.
func (d *Dir) Create(name string) (*File, error) {
	if !single(name) || name == spill.OwnerLock {
		return nil, fmt.Errorf("%q %w", name, ErrName)
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.need(); err != nil {
		return nil, err
	}
	return create(d.root, d.path(), name)
}

// CreateNew makes a file by the first of the names that is free: name is asked for
// another until then, with 0, 1, 2 …
func (d *Dir) CreateNew(name func(try int) string) (*File, error) {
	for try := 0; ; try++ {
		f, err := d.Create(name(try))
		if try >= claims || !errors.Is(err, fs.ErrExist) {
			return f, err
		}
	}
}

func create(root *os.Root, path, name string) (*File, error) {
	out, err := root.OpenFile(name, os.O_RDWR|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return nil, err
	}
	// By its path: the file may outlive the root it was made in.
	remove := func(name string) error { return os.Remove(filepath.Join(path, name)) }
	return &File{Name: name, Path: filepath.Join(path, name), remove: remove, out: out}, nil
}

// need makes the directory if it is not there. Called with d.mu.
func (d *Dir) need() error {
	if d.closed {
		return ErrClosed
	}
	if d.root != nil {
		if d.owned(d.used, d.lock) {
			return nil
		}
		d.free() // it was deleted
	}
	if err := shelter(d.parent); err != nil {
		return err
	}
	err := error(ErrNotOurs)
	for try := 0; try < claims && errors.Is(err, ErrNotOurs); try++ {
		name := d.name
		if try > 1 { // once more: the first may have met a sweep
			name = d.name[:min(len(d.name), 200)] + "-" + strings.ToLower(rand.Text()[:8])
		}
		err = d.claim(name)
	}
	return err
}

// shelter makes parent, and refuses one in which others could take a directory away
// from us.
func shelter(parent string) error {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return fmt.Errorf("cannot make the directory %s: %w", parent, err)
	}
	info, err := os.Stat(parent)
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSticky == 0 && info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("the directory %s cannot hold files of a session: everybody may change what is in it", parent)
	}
	return nil
}

// claim takes a name: the directory is made or taken over, and its lock is ours. An
// error that is ErrNotOurs says that another name will do.
func (d *Dir) claim(name string) error {
	path := filepath.Join(d.parent, name)
	if err := os.Mkdir(path, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("cannot make the directory %s: %w", path, err)
	}
	root, err := private(path)
	if err != nil {
		return err
	}
	lock, err := takeLock(root)
	if err == nil && !d.owned(name, lock) { // somebody swept it meanwhile
		lock.Close()
		err = ErrNotOurs
	}
	if err != nil {
		root.Close()
		return fmt.Errorf("%s: %w", path, err)
	}
	d.used, d.root, d.lock = name, root, lock
	return nil
}

// private opens a directory that is ours alone, not through a symbolic link.
func private(path string) (*os.Root, error) {
	before, err := os.Lstat(path)
	if err != nil || !ours(before) {
		return nil, fmt.Errorf("%s %w", path, ErrNotOurs)
	}
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	now, err := root.Stat(".")
	if err != nil || !os.SameFile(before, now) {
		root.Close()
		return nil, fmt.Errorf("%s %w", path, ErrNotOurs)
	}
	return root, nil
}

func ours(info fs.FileInfo) bool {
	st, ok := info.Sys().(*syscall.Stat_t)
	return ok && info.IsDir() && int(st.Uid) == os.Geteuid() && info.Mode().Perm()&0o077 == 0
}

// takeLock takes the lock of a directory that is empty or has one already: what is in
// any other is not ours to remove.
func takeLock(root *os.Root) (*os.File, error) {
	flags := os.O_RDWR | unix.O_NOFOLLOW | unix.O_NONBLOCK
	switch info, err := root.Lstat(spill.OwnerLock); {
	case errors.Is(err, fs.ErrNotExist):
		names, err := fs.ReadDir(root.FS(), ".")
		if err != nil || len(names) > 0 {
			return nil, ErrNotOurs
		}
		flags |= os.O_CREATE
	case err != nil:
		return nil, err
	case !info.Mode().IsRegular():
		return nil, ErrNotOurs
	}
	lock, err := root.OpenFile(spill.OwnerLock, flags, 0o600)
	if errors.Is(err, fs.ErrNotExist) { // a sweep was quicker
		return nil, ErrNotOurs
	}
	if err != nil {
		return nil, err
	}
	ok, err := spill.TryLock(lock)
	if err == nil && !ok {
		err = ErrNotOurs
	}
	if err != nil {
		lock.Close()
		return nil, err
	}
	return lock, nil
}

// owned says whether lock, which is taken, is that of the directory name.
func (d *Dir) owned(name string, lock *os.File) bool {
	held, err := lock.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(filepath.Join(d.parent, name, spill.OwnerLock))
	return err == nil && os.SameFile(held, named)
}

// free forgets the directory, wherever it is.
func (d *Dir) free() {
	d.root.Close()
	d.lock.Close()
	d.root, d.lock, d.used = nil, nil, ""
}

// Close removes the directory with all that is in it. Later calls do nothing.
func (d *Dir) Close() error { return d.close(spill.RemoveOwned) }

// Leave closes the directory and leaves it there: Sweep does not touch it any more.
func (d *Dir) Leave() error {
	return d.close(func(parent, name string) error {
		return os.Remove(filepath.Join(parent, name, spill.OwnerLock))
	})
}

func (d *Dir) close(end func(parent, name string) error) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.closed = true
	if d.root == nil {
		return nil
	}
	defer d.free()
	if !d.owned(d.used, d.lock) {
		return nil // somebody deleted it; what has its name now is not ours
	}
	return end(d.parent, d.used)
}
