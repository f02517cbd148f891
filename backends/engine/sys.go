package engine

import (
	"syscall"

	"golang.org/x/sys/unix"
)

// commonSys is the system calls of Local that every system has, one method each, so that
// a test can make any of them fail. A method makes its one call, repeats it after EINTR,
// and does nothing else. Sys adds those of one system.
type commonSys interface {
	Pipe() (r, w int, err error) // close-on-exec
	Fork(path string, argv []string, attr *syscall.ProcAttr) (pid int, err error)
	Wait4(pid int, status *unix.WaitStatus, options int, usage *unix.Rusage) (int, error)
	Kill(pid int, sig syscall.Signal) error // 0 and negative as kill(2)

	OpenAt(dir int, path string, flags int) (int, error) // close-on-exec
	Unlink(path string) error
	StatAt(dir int, path string, st *unix.Stat_t) error
	AccessAt(dir int, path string) error // checks permission to execute or enter
	Read(fd int, p []byte) (int, error)
	Write(fd int, p []byte) (int, error)
	Close(fd int) error
	SetNonblock(fd int) error // for a new descriptor without other flags
	SetPipeSize(fd, size int) error
	BytesReadable(fd int) (int, error) // FIONREAD
	HungUp(fd int) (bool, error)       // the other end of the pipe is closed

	OpenTerminal() (master, slave int, err error) // close-on-exec
	SetSize(master int, rows, cols uint16) error
	Modes(master int) (*unix.Termios, error)
	SetModes(master int, modes *unix.Termios) error
	Foreground(master int) (pgid int, err error)
}

// kernel implements Sys by system calls.
type kernel struct{}

// againN repeats a call that returns a number.
func againN(call func() (int, error)) (int, error) {
	for {
		if n, err := call(); err != unix.EINTR {
			return n, err
		}
	}
}

func (kernel) Fork(path string, argv []string, attr *syscall.ProcAttr) (int, error) {
	return syscall.ForkExec(path, argv, attr)
}

func (kernel) Wait4(pid int, status *unix.WaitStatus, options int, usage *unix.Rusage) (int, error) {
	return againN(func() (int, error) { return unix.Wait4(pid, status, options, usage) })
}

func (kernel) Kill(pid int, sig syscall.Signal) error { return unix.Kill(pid, sig) }

func (kernel) OpenAt(dir int, path string, flags int) (int, error) {
	return againN(func() (int, error) { return unix.Openat(dir, path, flags|unix.O_CLOEXEC, 0) })
}

func (kernel) Unlink(path string) error { return unix.Unlink(path) }

func (kernel) StatAt(dir int, path string, st *unix.Stat_t) error {
	return unix.Fstatat(dir, path, st, 0)
}

func (kernel) AccessAt(dir int, path string) error {
	return unix.Faccessat(dir, path, unix.X_OK, unix.AT_EACCESS)
}

func (kernel) Read(fd int, p []byte) (int, error) {
	return againN(func() (int, error) { return unix.Read(fd, p) })
}

func (kernel) Write(fd int, p []byte) (int, error) {
	return againN(func() (int, error) { return unix.Write(fd, p) })
}

func (kernel) Close(fd int) error { return unix.Close(fd) }

func (kernel) BytesReadable(fd int) (int, error) { return unix.IoctlGetInt(fd, fionread) }

func (kernel) SetSize(master int, rows, cols uint16) error {
	return unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
}

func (kernel) Modes(master int) (*unix.Termios, error) { return unix.IoctlGetTermios(master, getModes) }

func (kernel) SetModes(master int, modes *unix.Termios) error {
	return unix.IoctlSetTermios(master, setModes, modes)
}

func (kernel) Foreground(master int) (int, error) { return unix.IoctlGetInt(master, unix.TIOCGPGRP) }
