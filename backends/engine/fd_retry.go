package engine

import (
	"errors"
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/spill"
)

// fdReleaser is a store that closes what descriptors it can open again, and says whether
// there were any.
type fdReleaser interface{ CloseIdle() bool }

var _ fdReleaser = (*spill.Disk)(nil)

// fdRetrySys is a Sys that has the store spare descriptors when the process has none left,
// and then tries once more: those of outputs that nobody reads would else keep every
// job from its start.
type fdRetrySys struct {
	Sys
	store fdReleaser
}

// more reports whether a call is to be made again.
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
