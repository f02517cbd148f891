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

// leftover is the age after which an unfinished file or directory has no owner any
// more.
const leftover = time.Hour

// Sweep removes the directories of dead nodes, whose locks are free, and kept files
// that are too old. A node for which Options.Dead is false stays. It returns the names
// of the nodes that it removed. If no node left anything, it only reads the root
// directory.
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

// find returns the path of the root, "" if there is none.
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

// sweep handles one directory of the root.
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
			return false, nil // removed meanwhile, or its owner is about to rename it
		}
		return false, removeAll(root, name)
	case validID(name) && name != d.tree.node:
		return sweepNode(root, name, d.dead)
	}
	return false, nil
}

// sweepNode removes the directory of a node if its owner is dead and dead agrees. While
// the directory exists, a later sweep asks again. A directory without a lock file is
// not a node's.
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

// owns reports whether lock, which the caller holds, is the one in the node's
// directory. Since the file was opened, the directory may have been removed and a
// living owner may have made a new one.
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

// removeNode removes a node's directory, whose lock the caller holds. It renames it
// first, so that no process takes the rest for a living node. The new name is unique:
// processes that remove it at the same time never remove another directory.
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
	if err != nil { // this process holds the lock: no other removes it
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

// OwnerLock is the lock file of a directory that has an owner. The owner holds the lock
// as long as it lives. Directories that are not a store's use it too.
const OwnerLock = lockName

// DeadSuffix ends the name of a directory that is being removed.
const DeadSuffix = deadSuffix

// TryLock takes the exclusive lock of an open file without waiting. It returns false if
// another process has it.
func TryLock(f *os.File) (bool, error) { return tryLock(f) }

// RemoveOwned removes the directory name of parent. The caller holds its lock.
func RemoveOwned(parent, name string) error { return removeNode(parent, name) }

// SweepOwned removes the directory name of parent if its owner is dead, and reports
// whether it did. A directory without the file OwnerLock stays.
func SweepOwned(parent, name string) (bool, error) { return sweepNode(parent, name, nil) }
