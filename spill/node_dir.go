package spill

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// needHome makes the node's directory and takes its lock, again if it was
// deleted. The directory gets its name when it is locked: whoever finds the name
// and can take the lock knows that the owner is dead.
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
		return nil, fmt.Errorf("the node %s belongs to another process that is alive", t.node)
	}
	return nil, fmt.Errorf("cannot lock %s: %w", lockName, err)
}
