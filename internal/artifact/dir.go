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

// claims bounds the tries to find a free name.
const claims = 16

// Dir is a directory for the files of one session. The first call that needs it creates
// it, and so does one after an outside removal. Only this user has access (0700), and
// it is never a symbolic link. Dir holds its owner's lock until Close, so that Sweep
// can find directories of dead owners. It is safe for concurrent use.
//
// The directory is parent/name. It is parent/name-<random> if that name belongs to
// another user, has content without an owner's lock, or has a live owner. A directory
// of the same name with a dead owner is reused, so that earlier paths stay valid.
type Dir struct {
	parent, name string

	mu     sync.Mutex
	closed bool
	used   string // name in parent; "" before it is created
	root   *os.Root
	lock   *os.File
}

// NewDir names a directory and creates nothing. parent is an absolute path, created if
// missing. Other users may write to it if they cannot remove our directory there, as in
// /tmp.
func NewDir(parent, name string) (*Dir, error) {
	if !filepath.IsAbs(parent) {
		return nil, fmt.Errorf("the directory for the files of sessions is not an absolute path: %q", parent)
	}
	if !single(name) || strings.HasSuffix(name, spill.DeadSuffix) {
		return nil, fmt.Errorf("%q %w", name, ErrName)
	}
	return &Dir{parent: parent, name: name}, nil
}

// single reports whether name can be a file name in a directory.
func single(name string) bool {
	return name != "" && name != "." && name != ".." && !strings.ContainsAny(name, "/\x00") && len(name) <= 255
}

// Path creates the directory if needed and returns its path.
func (d *Dir) Path() (string, error) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.need(); err != nil {
		return "", err
	}
	return d.path(), nil
}

func (d *Dir) path() string { return filepath.Join(d.parent, d.used) }

// Create creates the file name with mode 0600, and the directory if needed. It fails if
// the file exists.
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

// CreateNew creates a file under the first free name. It calls name with 0, 1, 2 …
// until one is free.
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
	// The removal uses the path, since the file may outlive its root.
	remove := func(name string) error { return os.Remove(filepath.Join(path, name)) }
	return &File{Name: name, Path: filepath.Join(path, name), remove: remove, out: out}, nil
}

// need creates the directory if it does not exist. The caller holds d.mu.
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
		if try > 1 { // the first name gets a second try: a sweep may have removed it
			name = d.name[:min(len(d.name), 200)] + "-" + strings.ToLower(rand.Text()[:8])
		}
		err = d.claim(name)
	}
	return err
}

// shelter creates parent. It refuses one in which other users could remove our
// directory.
func shelter(parent string) error {
	if err := os.MkdirAll(parent, 0o700); err != nil {
		return fmt.Errorf("cannot make the directory %s: %w", parent, err)
	}
	info, err := os.Stat(parent)
	if err != nil {
		return err
	}
	if info.Mode()&os.ModeSticky == 0 && info.Mode().Perm()&0o002 != 0 {
		return fmt.Errorf("directory %s: every user can write to it; set its sticky bit or use another directory", parent)
	}
	return nil
}

// claim creates or takes over the directory name and locks it. After ErrNotOurs the
// caller tries another name.
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
	if err == nil && !d.owned(name, lock) { // a sweep removed it meanwhile
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

// private opens a directory that only this user can access, never through a symbolic
// link.
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

// takeLock locks a directory that is empty or has an owner's lock. The content of any
// other must not be removed.
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
	if errors.Is(err, fs.ErrNotExist) { // a sweep removed it first
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

// owned reports whether lock, which is held, belongs to the directory name.
func (d *Dir) owned(name string, lock *os.File) bool {
	held, err := lock.Stat()
	if err != nil {
		return false
	}
	named, err := os.Lstat(filepath.Join(d.parent, name, spill.OwnerLock))
	return err == nil && os.SameFile(held, named)
}

// free releases the directory without removing it.
func (d *Dir) free() {
	d.root.Close()
	d.lock.Close()
	d.root, d.lock, d.used = nil, nil, ""
}

// Close removes the directory and its content. Later calls do nothing.
func (d *Dir) Close() error { return d.close(spill.RemoveOwned) }

// Leave closes the directory and keeps it. Sweep does not touch it afterwards.
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
		return nil // removed from outside; its name may belong to another directory
	}
	return end(d.parent, d.used)
}

// Errors that a caller may test for. Some continue a sentence that begins with a path.
var (
	ErrClosed      = errors.New("the directory of the session is closed")
	ErrNotOurs     = errors.New("is not a directory that belongs to this user alone (mode 0700)")
	ErrName        = errors.New("is not a file name")
	ErrNoID        = errors.New("an artifact is named by its id: artifact://<id>")
	ErrNoDirectory = errors.New("no session has a directory of artifacts")
)
