package spill

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

// homeTries bounds the race against sweepers for a directory that is new: each
// can win it once, and only in the instant before it is locked.
const homeTries = 8

// needHome opens the node's directory and takes its lock, again if it was
// deleted.
func (t *tree) needHome() error {
	if t.home != nil {
		if st, err := t.sys.Stat(t.home.fd); err == nil && st.Links > 0 {
			return nil
		}
		t.home.free()
		t.lock.free()
		t.home, t.lock = nil, nil
	}
	if err := t.needRoot(); err != nil {
		return err
	}
	var err error
	for range homeTries {
		if t.home, t.lock, err = t.takeHome(); err == nil {
			return nil
		}
		if !errors.Is(err, errSwept) {
			return err
		}
	}
	return err
}

// errSwept says that somebody swept a directory between its making and its locking.
var errSwept = errors.New("is in use by another process")

// takeHome makes and locks the directory. A sweeper that comes in between holds
// the lock before it moves the directory away: either the lock is refused, or
// the name no longer leads to what was locked.
func (t *tree) takeHome() (home, lock *handle, err error) {
	home, err = t.descend(t.root.fd, t.node, true)
	if err != nil {
		return nil, nil, err
	}
	lock, err = t.takeLock(home.fd)
	if err == nil {
		err = t.stillThere(home)
	}
	if err != nil {
		home.free()
		if lock != nil {
			lock.free()
		}
		return nil, nil, err
	}
	return home, lock, nil
}

func (t *tree) takeLock(home int) (*handle, error) {
	fd, err := t.sys.Open(home, lockName, unix.O_RDWR|unix.O_CREAT, 0o600)
	if err == unix.ENOENT { // the directory itself is gone
		return nil, fmt.Errorf("%s %w", t.node, errSwept)
	}
	if err != nil {
		return nil, fmt.Errorf("cannot make %s: %w", lockName, err)
	}
	h := newHandle(t.sys, fd)
	if err = t.sys.Lock(fd); err == nil {
		return h, nil
	}
	h.free()
	if err == unix.EWOULDBLOCK {
		return nil, fmt.Errorf("%s %w", t.node, errSwept)
	}
	return nil, fmt.Errorf("cannot lock %s: %w", lockName, err)
}

func (t *tree) stillThere(home *handle) error {
	again, err := t.descend(t.root.fd, t.node, false)
	if errors.Is(err, unix.ENOENT) {
		return fmt.Errorf("%s %w", t.node, errSwept)
	}
	if err != nil {
		return err
	}
	defer again.free()
	a, err := t.sys.Stat(home.fd)
	if err != nil {
		return err
	}
	b, err := t.sys.Stat(again.fd)
	if err != nil {
		return err
	}
	if a.Dev != b.Dev || a.Ino != b.Ino {
		return fmt.Errorf("%s %w", t.node, errSwept)
	}
	return nil
}
