package spill

import (
	"crypto/rand"
	"errors"
	"io/fs"
	"os"
	"strings"
	"time"

	"golang.org/x/sys/unix"
)

// leftover is how old something unfinished must be to be nobody's any more.
const leftover = time.Hour

// Sweep removes what is left of nodes that are dead: directories whose lock can
// be taken, unless more than these is left, and kept files that are past their
// time. It returns the names of the nodes whose directories it removed. Where no
// node left anything it costs one look at the root directory, or at its absence.
func (d *Disk) Sweep() ([]string, error) {
	path, err := d.tree.find()
	if path == "" || err != nil {
		return nil, err
	}
	entries, err := os.ReadDir(path)
	if err != nil {
		return nil, err
	}
	var swept []string
	var errs []error
	for _, e := range entries {
		if !e.IsDir() {
			continue
		}
		ok, err := d.sweep(path, e)
		if ok {
			swept = append(swept, e.Name())
		}
		errs = append(errs, err)
	}
	return swept, errors.Join(errs...)
}

// find says where the root is, or "" if there is none.
func (t *nodeDirs) find() (string, error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	if t.closed {
		return "", ErrClosed
	}
	path, h, err := t.findRoot(false)
	if errors.Is(err, unix.ENOENT) || err != nil && t.given == "" {
		return "", nil
	}
	if err != nil {
		return "", err
	}
	h.free()
	return path, nil
}

// sweep looks at one directory of the root.
func (d *Disk) sweep(root string, e fs.DirEntry) (bool, error) {
	name := e.Name()
	gone, dead := strings.CutSuffix(name, deadSuffix)
	node, _, _ := strings.Cut(gone, ".")
	made, unfinished := strings.CutSuffix(name, newSuffix)
	switch {
	case name == keptDir:
		return false, d.trimKept()
	case dead && validID(node):
		return false, removeAll(root, name)
	case unfinished && validID(made):
		if fi, err := e.Info(); err != nil || time.Since(fi.ModTime()) < leftover {
			return false, nil // gone, or its owner is about to name it
		}
		return false, removeAll(root, name)
	case validID(name) && name != d.tree.node:
		return sweepNode(root, name, d.dead)
	}
	return false, nil
}

// sweepNode removes the directory of a node if its owner is dead, and dead says that
// nothing else of it is left: as long as the directory is there, somebody will ask
// again. A directory without a lock is no node's.
func sweepNode(root, node string, dead func(string) bool) (bool, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	lock, err := dir.OpenFile(node+"/"+lockName, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			err = nil
		}
		return false, err
	}
	defer lock.Close()
	if ok, err := tryLock(lock); !ok {
		return false, err
	}
	if !owns(dir, lock, node) {
		return false, nil
	}
	if dead != nil && !dead(node) {
		return false, nil
	}
	if err := removeNode(root, node); err != nil {
		return false, err
	}
	return true, nil
}

// owns reports whether lock, which is taken, is that of the node's directory. The
// directory may have gone since the file was opened, with its lock, and another
// of that name, whose owner is alive, be in its place.
func owns(dir *os.Root, lock *os.File, node string) bool {
	held, err := lock.Stat()
	if err != nil {
		return false
	}
	named, err := dir.Lstat(node + "/" + lockName)
	return err == nil && os.SameFile(held, named)
}

func tryLock(f *os.File) (bool, error) {
	raw, err := f.SyscallConn()
	if err != nil {
		return false, err
	}
	var lerr error
	if err := raw.Control(func(fd uintptr) { lerr = unix.Flock(int(fd), unix.LOCK_EX|unix.LOCK_NB) }); err != nil {
		return false, err
	}
	if lerr == unix.EWOULDBLOCK {
		return false, nil
	}
	return lerr == nil, lerr
}

// removeNode removes a node's directory, whose lock the caller holds. The name
// goes first, so that nobody takes what is left for a living node's. What it is
// called then is used once: others may remove it at the same time, and must never
// meet a second directory under that name.
func removeNode(root, node string) error {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	dead := node + "." + rand.Text() + deadSuffix
	err = dir.Rename(node, dead)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil { // the lock is held: nobody else removes it
		return dir.RemoveAll(node)
	}
	return dir.RemoveAll(dead)
}

func removeAll(root, name string) error {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.RemoveAll(name)
}

// What makes a directory its owner's, for directories that are not a store's: the
// owner holds the lock of the file OwnerLock in it for as long as it lives.

// OwnerLock is the name of that file.
const OwnerLock = lockName

// DeadSuffix ends the name of a directory on its way out.
const DeadSuffix = deadSuffix

// TryLock takes the exclusive lock of an open file and never waits; false says that
// somebody else has it.
func TryLock(f *os.File) (bool, error) { return tryLock(f) }

// RemoveOwned removes the directory name of parent, whose lock the caller holds.
func RemoveOwned(parent, name string) error { return removeNode(parent, name) }

// SweepOwned removes the directory name of parent if its owner is dead, and says
// whether it did. One without the file OwnerLock is nobody's and stays.
func SweepOwned(parent, name string) (bool, error) { return sweepNode(parent, name, nil) }
