package engine

import (
	"bytes"
	"encoding/binary"
	"strconv"
	"unsafe"

	"golang.org/x/sys/unix"
)

// ttyReadProbe detects processes that wait for input of one terminal. It counts reads,
// and polls and selects that nothing else can end, as in editors and shells. Calls with
// a timeout or other descriptors do not count.
type ttyReadProbe struct {
	sys    Sys
	device uint64 // of the terminal
	secret bool   // the terminal does not echo: enough evidence where calls are hidden
}

// lookAtTerminal probes the terminal before its foreground processes: input that
// arrives between was not there. secret: the terminal would not echo.
func (j *job) lookAtTerminal(master *readEnd, pids func() []int) (seen inputState, secret bool) {
	k := ttyReadProbe{sys: j.engine.opt.Sys}
	group := 0
	seen = unseen
	master.use(func(fd int) { seen, group = k.open(fd) })
	if seen != reads {
		return seen, false
	}
	var front []int
	for _, pid := range pids() {
		if p, ok := statProc(k.sys, pid); ok && p.pgid == group && !p.dead() {
			front = append(front, pid)
		}
	}
	if seen = lookAt(front, k.process); seen == reads { // the process may have changed the modes before it read
		master.use(func(fd int) {
			if modes, err := k.sys.Modes(fd); err == nil {
				k.secret = hidesInput(modes)
			}
		})
	}
	return seen, k.secret
}

// hidesInput reports whether a terminal collects a line without echo.
func hidesInput(modes *unix.Termios) bool { return modes.Lflag&(unix.ICANON|unix.ECHO) == unix.ICANON }

// open reads the terminal's state; reads means that a reader would block.
func (k *ttyReadProbe) open(master int) (seen inputState, group int) {
	modes, err := k.sys.Modes(master)
	if err != nil {
		return blind, 0
	}
	k.secret = hidesInput(modes)
	if group, err = k.sys.Foreground(master); err != nil {
		return blind, 0
	}
	peer, err := k.sys.PTYPeer(master)
	if err != nil {
		return blind, 0
	}
	defer k.sys.Close(peer)
	var st unix.Stat_t
	if k.sys.StatAt(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(peer), &st) != nil {
		return blind, 0
	}
	k.device = uint64(st.Rdev)
	switch ready, err := k.sys.Readable(peer); {
	case err != nil:
		return blind, 0
	case ready: // unread input is there
		return notReading, group
	}
	return reads, group
}

// process inspects the system calls of a process's threads. A process that cannot be
// inspected, and sleeps while the terminal does not echo, asks for a password, as sudo
// and ssh do.
func (k *ttyReadProbe) process(pid int) inputState {
	tids, err := listDir(k.sys, unix.AT_FDCWD, procPath(pid, "task"))
	if err != nil {
		return denied(err)
	}
	r := pipeReadProbe{sys: k.sys}
	for _, tid := range tids {
		thread := procPath(pid, "task/"+tid+"/")
		text, err := readFile(k.sys, unix.AT_FDCWD, thread+"syscall")
		switch {
		case err != nil && denied(err) == notReading:
			continue // it has ended
		case err != nil && !r.sleeps(pid, thread):
			continue // it exits or executes a program
		case err != nil && k.secret:
			return reads
		case err != nil:
			return blind
		}
		if k.waits(pid, thread, text) && r.sleeps(pid, thread) {
			return reads
		}
	}
	return notReading
}

// waits reports whether only input can end a system call.
func (k *ttyReadProbe) waits(pid int, thread string, text []byte) bool {
	if fd := readOf(text); fd >= 0 {
		return k.is(thread, fd)
	}
	number, args, ok := parseCall(text)
	if !ok {
		return false
	}
	forever := false
	var fds []int
	switch number {
	case sysPoll:
		forever = int32(args[2]) < 0
		fds, ok = k.polled(pid, args)
	case unix.SYS_PPOLL:
		forever = args[2] == 0
		fds, ok = k.polled(pid, args)
	case sysSelect, unix.SYS_PSELECT6:
		forever = args[4] == 0
		fds, ok = k.selected(pid, args)
	}
	if !forever || !ok || len(fds) == 0 {
		return false
	}
	for _, fd := range fds {
		if !k.is(thread, fd) {
			return false
		}
	}
	return true
}

// is reports whether a descriptor of a thread is the terminal, or /dev/tty.
func (k *ttyReadProbe) is(thread string, fd int) bool {
	var st unix.Stat_t
	err := k.sys.StatAt(unix.AT_FDCWD, thread+"fd/"+strconv.Itoa(fd), &st)
	return err == nil && st.Mode&unix.S_IFMT == unix.S_IFCHR && (uint64(st.Rdev) == k.device || uint64(st.Rdev) == unix.Mkdev(5, 0))
}

// pollReadNormal is POLLRDNORM, which x/sys lacks.
const pollReadNormal = 0x40

// mostWatched bounds the inspected descriptors of one call.
const mostWatched = 64

// polled returns the descriptors of a poll. ok is false if one is polled for more than
// input.
func (k *ttyReadProbe) polled(pid int, args [6]uint64) (fds []int, ok bool) {
	if args[1] > mostWatched {
		return nil, false
	}
	list := make([]unix.PollFd, args[1])
	if !k.memory(pid, args[0], unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(list))), len(list)*int(unsafe.Sizeof(unix.PollFd{})))) {
		return nil, false
	}
	for _, p := range list {
		switch {
		case p.Fd < 0:
		case p.Events&(unix.POLLIN|pollReadNormal) == 0:
			return nil, false
		default:
			fds = append(fds, int(p.Fd))
		}
	}
	return fds, true
}

// selected returns the descriptors of a select, as polled does.
func (k *ttyReadProbe) selected(pid int, args [6]uint64) (fds []int, ok bool) {
	if args[0] > unix.FD_SETSIZE {
		return nil, false
	}
	words := (int(args[0]) + 63) / 64
	for i, at := range args[1:3] {
		set := make([]byte, 8*words)
		if at == 0 {
			continue
		}
		if !k.memory(pid, at, set) {
			return nil, false
		}
		for fd := range int(args[0]) {
			if binary.NativeEndian.Uint64(set[fd/64*8:])>>(fd%64)&1 == 0 {
				continue
			}
			if i > 0 || len(fds) == mostWatched { // it waits to write, too
				return nil, false
			}
			fds = append(fds, fd)
		}
	}
	return fds, true
}

// memory reads the memory of a process.
func (k *ttyReadProbe) memory(pid int, at uint64, p []byte) bool {
	if len(p) == 0 {
		return true
	}
	n, err := k.sys.ReadProcessMemory(pid, uintptr(at), p)
	return err == nil && n == len(p)
}

// parseCall parses number and arguments of the system call in which a thread waits, as
// in "271 0x7f… 0x2 0x0 …".
func parseCall(text []byte) (number int, args [6]uint64, ok bool) {
	f := bytes.Fields(text)
	if len(f) < 1+len(args) {
		return 0, args, false
	}
	number, err := strconv.Atoi(string(f[0]))
	if err != nil || number < 0 {
		return 0, args, false
	}
	for i := range args {
		hex, found := bytes.CutPrefix(f[1+i], []byte("0x"))
		if args[i], err = strconv.ParseUint(string(hex), 16, 64); err != nil || !found {
			return 0, args, false
		}
	}
	return number, args, true
}
