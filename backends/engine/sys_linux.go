package engine

import (
	"syscall"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Sys is the system calls of Local. Splice belongs to the store.
type Sys interface {
	commonSys

	Waitid(kind, id int, info *unix.Siginfo, options int) error
	Inspect(pid int, info *unix.Siginfo, usage *unix.Rusage) error // waitid of a zombie, which stays one
	PidfdOpen(pid int) (int, error)
	PidfdSignal(pidfd int, sig syscall.Signal, flags int) error
	PidfdInfo(pidfd int, info *unix.PidfdInfo) error
	PidfdReaped(pidfd int, within time.Duration) error // waits until it is reaped

	Create(path string) (int, error) // a new file (0600), for writing; close-on-exec
	Mkfifo(path string) error        // 0600
	Rename(from, to string) error
	MkdirAt(dir int, path string) error
	RmdirAt(dir int, path string) error
	ReadDir(fd int, buf []byte) (int, error)
	Pread(fd int, p []byte) (int, error)  // from the beginning
	Pwrite(fd int, p []byte) (int, error) // at the beginning
	Truncate(fd int, size int64) error

	TerminalNumber(master int) (int, error)
	SignalForeground(master int, sig syscall.Signal) error // to the foreground group
	FlushInput(master int) error                           // input that the terminal has not taken
	SetModesFlush(master int, modes *unix.Termios) error   // drops unread input, too
	PTYPeer(master int) (slave int, err error)             // another descriptor; close-on-exec, no controlling terminal
	Readable(fd int) (bool, error)                         // without waiting
	Splice(from, to, most int) (int, error)
	ReadProcessMemory(pid int, at uintptr, p []byte) (int, error) // of another process

	InotifyInit() (int, error) // non-blocking
	InotifyAdd(fd int, path string, mask uint32) (int, error)
	InotifyRemove(fd, watch int) error
	EpollCreate() (int, error)
	EpollAdd(ep, fd int, events uint32, tag uint64) error
	EpollRemove(ep, fd int) error
	EpollWait(ep int, events []unix.EpollEvent) (int, error) // never waits

	Prlimit(pid, resource int, set, was *unix.Rlimit) error
	SetNice(pid, nice int) error
	SetCPUs(pid int, set *unix.CPUSet) error
	HasCapabilities(fd int) bool // it is a program with capabilities
	ContinueTrace(pid int) error // a child that this thread traces continues without its signal
	EndTrace(pid int) error      // a child that this thread traces continues
	SignalAction(sig syscall.Signal, set, was *sigaction) error
	SignalMask(set, was *unix.Sigset_t) error // signals that this thread blocks
	Subreaper() error
	CloseRangeOnExec(first int) error      // close-on-exec from first on
	UnshareFS() error                      // gives the thread its own umask
	UnshareFiles() error                   // gives the thread its own copy of the descriptor table
	PidfdGetfd(pidfd, fd int) (int, error) // copies a descriptor of a process; close-on-exec
	Umask(mask int) (was int)
	SchedYield()                      // yields to other threads of this CPU
	Boottime() (time.Duration, error) // CLOCK_BOOTTIME
}

// again repeats a call that a signal interrupted.
func again(call func() error) error {
	for {
		if err := call(); err != unix.EINTR {
			return err
		}
	}
}

func (kernel) Pipe() (r, w int, err error) {
	var p [2]int
	err = unix.Pipe2(p[:], unix.O_CLOEXEC)
	return p[0], p[1], err
}

// Calls that never wait are raw. Any other call wakes the runtime's sysmon thread if it is the
// first after an idle time.

func (kernel) Waitid(kind, id int, info *unix.Siginfo, options int) error {
	if options&unix.WNOHANG != 0 {
		return look(kind, id, info, options, nil)
	}
	return again(func() error { return unix.Waitid(kind, id, info, options, nil) })
}

func (kernel) Inspect(pid int, info *unix.Siginfo, usage *unix.Rusage) error {
	return look(unix.P_PID, pid, info, unix.WEXITED|unix.WNOHANG|unix.WNOWAIT, usage)
}

// look makes a waitid that never waits.
func look(kind, id int, info *unix.Siginfo, options int, usage *unix.Rusage) error {
	return again(func() error {
		_, _, n := unix.RawSyscall6(unix.SYS_WAITID, uintptr(kind), uintptr(id), uintptr(unsafe.Pointer(info)), uintptr(options), uintptr(unsafe.Pointer(usage)), 0)
		return failed(n)
	})
}

// failed returns the error of a raw call; nil: none.
func failed(n syscall.Errno) error {
	if n == 0 {
		return nil
	}
	return n
}

func (kernel) PidfdOpen(pid int) (int, error) { return unix.PidfdOpen(pid, 0) }

func (kernel) PidfdSignal(pidfd int, sig syscall.Signal, flags int) error {
	return unix.PidfdSendSignal(pidfd, sig, nil, flags)
}

func (kernel) PidfdInfo(pidfd int, info *unix.PidfdInfo) error {
	return again(func() error { return unix.IoctlPidfdInfo(pidfd, info) })
}

func (kernel) PidfdReaped(pidfd int, within time.Duration) error {
	p := []unix.PollFd{{Fd: int32(pidfd)}}
	_, err := againN(func() (int, error) { return unix.Poll(p, int(within.Milliseconds())) })
	return err
}

func (kernel) Create(path string) (int, error) {
	return againN(func() (int, error) {
		return unix.Open(path, unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL|unix.O_NOFOLLOW|unix.O_CLOEXEC, 0o600)
	})
}

func (kernel) Mkfifo(path string) error { return unix.Mkfifo(path, 0o600) }

func (kernel) Pwrite(fd int, p []byte) (int, error) {
	return againN(func() (int, error) { return unix.Pwrite(fd, p, 0) })
}

func (kernel) Truncate(fd int, size int64) error {
	return again(func() error { return unix.Ftruncate(fd, size) })
}

func (kernel) Rename(from, to string) error { return unix.Rename(from, to) }

func (kernel) MkdirAt(dir int, path string) error { return unix.Mkdirat(dir, path, 0o755) }

func (kernel) RmdirAt(dir int, path string) error {
	return unix.Unlinkat(dir, path, unix.AT_REMOVEDIR)
}

func (kernel) ReadDir(fd int, buf []byte) (int, error) { return unix.ReadDirent(fd, buf) }

func (kernel) Pread(fd int, p []byte) (int, error) {
	return againN(func() (int, error) { return unix.Pread(fd, p, 0) })
}

func (kernel) SetNonblock(fd int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETFL, unix.O_NONBLOCK)
	return err
}

func (kernel) SetPipeSize(fd, size int) error {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_SETPIPE_SZ, size)
	return err
}

func (kernel) HungUp(fd int) (bool, error) {
	p := []unix.PollFd{{Fd: int32(fd)}}
	_, err := againN(func() (int, error) { return unix.Poll(p, 0) })
	return p[0].Revents&(unix.POLLHUP|unix.POLLERR) != 0, err
}

func (kernel) Readable(fd int) (bool, error) {
	p := []unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}
	_, err := againN(func() (int, error) { return unix.Poll(p, 0) })
	return p[0].Revents&unix.POLLIN != 0, err
}

func (kernel) Splice(from, to, most int) (int, error) {
	return againN(func() (int, error) {
		n, err := unix.Splice(from, nil, to, nil, most, unix.SPLICE_F_NONBLOCK)
		return int(n), err
	})
}

func (kernel) ReadProcessMemory(pid int, at uintptr, p []byte) (int, error) {
	local := []unix.Iovec{{Base: unsafe.SliceData(p)}}
	local[0].SetLen(len(p))
	return unix.ProcessVMReadv(pid, local, []unix.RemoteIovec{{Base: at, Len: len(p)}}, 0)
}

// disabled is the value of a terminal key that is not set (_POSIX_VDISABLE).
const disabled = 0

// Requests that get and set the modes of a terminal, and FIONREAD.
const (
	getModes = unix.TCGETS
	setModes = unix.TCSETS
	fionread = unix.TIOCINQ
)

func (kernel) InotifyInit() (int, error) {
	return unix.InotifyInit1(unix.IN_CLOEXEC | unix.IN_NONBLOCK)
}

func (kernel) InotifyAdd(fd int, path string, mask uint32) (int, error) {
	return unix.InotifyAddWatch(fd, path, mask)
}

func (kernel) InotifyRemove(fd, watch int) error {
	_, err := unix.InotifyRmWatch(fd, uint32(watch))
	return err
}

func (kernel) EpollCreate() (int, error) { return unix.EpollCreate1(unix.EPOLL_CLOEXEC) }

func (kernel) EpollAdd(ep, fd int, events uint32, tag uint64) error {
	return unix.EpollCtl(ep, unix.EPOLL_CTL_ADD, fd, &unix.EpollEvent{Events: events, Fd: int32(uint32(tag)), Pad: int32(tag >> 32)})
}

// tagOf returns the tag given to EpollAdd.
func tagOf(ev *unix.EpollEvent) uint64 { return uint64(uint32(ev.Fd)) | uint64(uint32(ev.Pad))<<32 }

func (kernel) EpollRemove(ep, fd int) error {
	return unix.EpollCtl(ep, unix.EPOLL_CTL_DEL, fd, nil)
}

func (kernel) EpollWait(ep int, events []unix.EpollEvent) (int, error) {
	return againN(func() (int, error) {
		n, _, failure := unix.RawSyscall6(unix.SYS_EPOLL_PWAIT, uintptr(ep), uintptr(unsafe.Pointer(&events[0])), uintptr(len(events)), 0, 0, 0)
		return int(n), failed(failure)
	})
}

func (kernel) Prlimit(pid, resource int, set, was *unix.Rlimit) error {
	return unix.Prlimit(pid, resource, set, was)
}

func (kernel) SetNice(pid, nice int) error { return unix.Setpriority(unix.PRIO_PROCESS, pid, nice) }

func (kernel) SetCPUs(pid int, set *unix.CPUSet) error { return unix.SchedSetaffinity(pid, set) }

func (kernel) HasCapabilities(fd int) bool {
	n, err := unix.Fgetxattr(fd, "security.capability", nil)
	return err == nil && n > 0
}

func (kernel) ContinueTrace(pid int) error { return unix.PtraceCont(pid, 0) }

func (kernel) EndTrace(pid int) error { return unix.PtraceDetach(pid) }

// sigaction is the kernel's struct of that name, as large as on any machine. The zero
// value is the default action.
type sigaction [8]uint64

// SignalAction bypasses the Go runtime, which cannot restore the default.
func (kernel) SignalAction(sig syscall.Signal, set, was *sigaction) error {
	const maskSize = 8 // MIPS needs 16, and refuses
	_, _, n := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig), uintptr(unsafe.Pointer(set)), uintptr(unsafe.Pointer(was)), maskSize, 0, 0)
	return failed(n)
}

func (kernel) SignalMask(set, was *unix.Sigset_t) error {
	return unix.PthreadSigmask(unix.SIG_SETMASK, set, was)
}

func (kernel) Subreaper() error { return unix.Prctl(unix.PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) }

func (kernel) CloseRangeOnExec(first int) error {
	return unix.CloseRange(uint(first), ^uint(0)>>1, unix.CLOSE_RANGE_CLOEXEC)
}

func (kernel) UnshareFS() error { return unix.Unshare(unix.CLONE_FS) }

func (kernel) UnshareFiles() error { return unix.Unshare(unix.CLONE_FILES) }

func (kernel) PidfdGetfd(pidfd, fd int) (int, error) { return unix.PidfdGetfd(pidfd, fd, 0) }

func (kernel) Umask(mask int) int { return unix.Umask(mask) }

func (kernel) SchedYield() { _, _, _ = unix.RawSyscall(unix.SYS_SCHED_YIELD, 0, 0, 0) }

func (kernel) Boottime() (time.Duration, error) {
	var ts unix.Timespec
	err := unix.ClockGettime(unix.CLOCK_BOOTTIME, &ts)
	return time.Duration(ts.Nano()), err
}

// infoPid returns si_pid of Waitid: the first field of the union after three ints,
// aligned as a pointer.
func infoPid(info *unix.Siginfo) int { return int(*infoField(info, 0)) }

// infoStatus returns si_status, the third field: an exit code or a signal.
func infoStatus(info *unix.Siginfo) int { return int(*infoField(info, 2)) }

func infoField(info *unix.Siginfo, i int) *int32 {
	const word = unsafe.Sizeof(uintptr(0))
	const offset = (3*unsafe.Sizeof(int32(0)) + word - 1) / word * word
	return (*int32)(unsafe.Add(unsafe.Pointer(info), offset+uintptr(i)*unsafe.Sizeof(int32(0))))
}

func (kernel) TerminalNumber(master int) (int, error) { return unix.IoctlGetInt(master, unix.TIOCGPTN) }

func (kernel) SignalForeground(master int, sig syscall.Signal) error {
	return unix.IoctlSetInt(master, unix.TIOCSIG, int(sig))
}

// FlushInput flushes the output of the master, which is the input of the terminal.
func (kernel) FlushInput(master int) error {
	return unix.IoctlSetInt(master, unix.TCFLSH, unix.TCOFLUSH)
}

func (kernel) SetModesFlush(master int, modes *unix.Termios) error {
	return unix.IoctlSetTermios(master, unix.TCSETSF, modes)
}

// maxRSS returns KiB, as Linux counts. The field has the machine's word size.
func maxRSS(u *unix.Rusage) int64 { return int64(u.Maxrss) }
