package spill

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"strings"

	"golang.org/x/sys/unix"
)

// Sweep removes what is left of nodes that are dead: directories whose lock can
// be taken, and kept files that are past their time. It returns the names of the
// nodes whose directories it removed. Where no node left anything it costs one
// look at the root directory, or at its absence.
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
		name, dead := strings.CutSuffix(e.Name(), deadSuffix)
		switch {
		case !e.IsDir() || name == d.tree.node || !validID(name):
		case name == keptDir:
			errs = append(errs, d.trimKept())
		case dead:
			errs = append(errs, removeDead(path, e.Name()))
		default:
			ok, err := sweepNode(path, name)
			if ok {
				swept = append(swept, name)
			}
			errs = append(errs, err)
		}
	}
	return swept, errors.Join(errs...)
}

// find says where the root is, or "" if there is none.
func (t *tree) find() (string, error) {
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

// sweepNode removes the directory of a node if its owner is dead. A directory
// without a lock is one that its owner is making, or no node's: it goes only if
// it is empty.
func sweepNode(root, node string) (bool, error) {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return false, err
	}
	defer dir.Close()
	lock, err := dir.OpenFile(node+"/"+lockName, os.O_RDWR|unix.O_NOFOLLOW|unix.O_NONBLOCK, 0)
	if errors.Is(err, fs.ErrNotExist) {
		if isULID(node) {
			_ = dir.Remove(node) // refused unless it is empty
		}
		return false, nil
	}
	if err != nil {
		return false, err
	}
	defer lock.Close()
	if ok, err := tryLock(lock); !ok {
		return false, err
	}
	if err := removeNode(root, node); err != nil {
		return false, err
	}
	return true, nil
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
// goes first, so that nobody takes the directory for a living one on its way out.
func removeNode(root, node string) error {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	if err := dir.Rename(node, node+deadSuffix); err != nil {
		if errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		return fmt.Errorf("cannot remove the directory of a node: %w", err)
	}
	return dir.RemoveAll(node + deadSuffix)
}

func removeDead(root, name string) error {
	dir, err := os.OpenRoot(root)
	if err != nil {
		return err
	}
	defer dir.Close()
	return dir.RemoveAll(name)
}

// isULID tells the name of a node from others that may be in the root.
func isULID(name string) bool {
	return len(name) == 26 && strings.Trim(name, "0123456789ABCDEFGHJKMNPQRSTVWXYZ") == ""
}
