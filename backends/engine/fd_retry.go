package engine

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/spill"
)

// fdReleaser is a store that can close descriptors it does not need now. CloseIdle
// reports whether it closed any.
type fdReleaser interface{ CloseIdle() bool }

var _ fdReleaser = (*spill.Disk)(nil)

// fdRetrySys retries a call that ran out of descriptors, after the store has released
// some. Otherwise logs without a reader could keep jobs from starting.
type fdRetrySys struct {
	Sys
	store fdReleaser
}

// more reports whether a call is to be repeated.
func (s fdRetrySys) more(err error) bool {
	return (errors.Is(err, unix.EMFILE) || errors.Is(err, unix.ENFILE)) && s.store.CloseIdle()
}

func (s fdRetrySys) Pipe() (r, w int, err error) {
	if r, w, err = s.Sys.Pipe(); s.more(err) {
		r, w, err = s.Sys.Pipe()
	}
	return r, w, err
}

func (s fdRetrySys) Fork(path string, argv []string, attr *syscall.ProcAttr) (pid int, err error) {
	if pid, err = s.Sys.Fork(path, argv, attr); s.more(err) {
		pid, err = s.Sys.Fork(path, argv, attr)
	}
	return pid, err
}

func (s fdRetrySys) OpenAt(dir int, path string, flags int) (fd int, err error) {
	if fd, err = s.Sys.OpenAt(dir, path, flags); s.more(err) {
		fd, err = s.Sys.OpenAt(dir, path, flags)
	}
	return fd, err
}

func (s fdRetrySys) OpenTerminal() (master, slave int, err error) {
	if master, slave, err = s.Sys.OpenTerminal(); s.more(err) {
		master, slave, err = s.Sys.OpenTerminal()
	}
	return master, slave, err
}
