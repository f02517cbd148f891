package engine

import (
	"bytes"
	"slices"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// proc is a process as /proc/PID/stat shows it.
type proc struct {
	pid, ppid, pgid, sid int
	threads              int
	state                byte
	flags                uint64 // PF_… of the kernel's include/linux/sched.h
	start                uint64 // clock ticks since boot
	used                 uint64 // clock ticks of CPU time, with those of reaped children
	resident             int64  // pages of memory
}

// dead reports whether only the entry in the process table is left. The state is that of the main
// thread, which is dead while another thread is in execve, and may have ended alone.
func (p proc) dead() bool { return p.ended() && p.threads <= 1 }

// ended reports whether the main thread has ended, or the thread of which p is the stat file.
func (p proc) ended() bool { return p.state == 'Z' || p.state == 'X' }

// pfExiting is PF_EXITING.
const pfExiting = 0x4

// doomed reports whether a live process is certain to exit. Either the kernel executes its exit,
// in which it may wait in state D for a lock, or a KILL is pending and it waits for a CPU. If its
// main thread has ended, that is so of all others.
func (p proc) doomed(sys Sys) bool {
	switch {
	case p.ended():
		threads, err := listDir(sys, unix.AT_FDCWD, procPath(p.pid, "task"))
		return (err == nil || isGone(err)) && !slices.ContainsFunc(threads, func(tid string) bool {
			n, _ := strconv.Atoi(tid)
			thread, lives := statProc(sys, n)
			return lives && !thread.ended() && !thread.doomed(sys)
		})
	case p.flags&pfExiting != 0:
		return true
	}
	return p.state == 'R' && p.inSignalSet(sys, unix.SIGKILL, "SigPnd", "ShdPnd") // of the thread, and of the process
}

// inSignalSet reports whether a signal is in one of these sets of /proc/PID/status.
func (p proc) inSignalSet(sys Sys, sig syscall.Signal, sets ...string) bool {
	status, _ := readFile(sys, unix.AT_FDCWD, procPath(p.pid, "status"))
	for line := range bytes.Lines(status) {
		key, mask, _ := bytes.Cut(bytes.TrimSpace(line), []byte(":\t"))
		if !slices.Contains(sets, string(key)) {
			continue
		}
		if n, err := strconv.ParseUint(string(mask), 16, 64); err == nil && n&(1<<(sig-1)) != 0 {
			return true
		}
	}
	return false
}

// readFile reads a small file of a virtual file system.
func readFile(sys Sys, dir int, path string) ([]byte, error) {
	return readSmall(sys, dir, path, 1024)
}

// readSmall reads a file that should hold less than room bytes.
func readSmall(sys Sys, dir int, path string, room int) ([]byte, error) {
	fd, err := sys.OpenAt(dir, path, unix.O_RDONLY)
	if err != nil {
		return nil, err
	}
	defer sys.Close(fd)
	buf := make([]byte, room)
	n := 0
	for {
		k, err := sys.Read(fd, buf[n:])
		if err != nil {
			return nil, err
		}
		if k == 0 {
			return buf[:n], nil
		}
		if n += k; n == len(buf) {
			buf = append(buf, make([]byte, len(buf))...)
		}
	}
}

func procPath(pid int, file string) string { return "/proc/" + strconv.Itoa(pid) + "/" + file }

// statProc reads one process; false: there is none, or it cannot be read.
func statProc(sys Sys, pid int) (proc, bool) {
	p, err := readProc(sys, pid)
	return p, err == nil
}

// readProc reads one process. isGone knows the error of one that there is not.
func readProc(sys Sys, pid int) (proc, error) {
	text, err := readFile(sys, unix.AT_FDCWD, procPath(pid, "stat"))
	if err != nil {
		return proc{}, err
	}
	p, ok := parseStat(pid, text)
	if !ok {
		return proc{}, errUnseen
	}
	return p, nil
}

// isGone reports whether an error means that a process has ended, rather than that it
// cannot be read.
func isGone(err error) bool { return err == unix.ENOENT || err == unix.ESRCH }

// parseStat parses the fields after the name, which may contain anything.
func parseStat(pid int, text []byte) (proc, bool) {
	i := bytes.LastIndexByte(text, ')')
	if i < 0 {
		return proc{}, false
	}
	f := bytes.Fields(text[i+1:])
	if len(f) < 22 {
		return proc{}, false
	}
	number := func(i int) int {
		n, _ := strconv.Atoi(string(f[i]))
		return n
	}
	flags, _ := strconv.ParseUint(string(f[6]), 10, 64)
	start, _ := strconv.ParseUint(string(f[19]), 10, 64)
	return proc{
		pid: pid, state: f[0][0], ppid: number(1), pgid: number(2), sid: number(3),
		threads: number(17), flags: flags, start: start,
		used: uint64(number(11) + number(12) + number(13) + number(14)), resident: int64(number(21)),
	}, true
}

// tick is the unit of a start time: USER_HZ, which is 100 on all machines of Go.
const tick = 10 * time.Millisecond

// startTime returns the start time of a child forked between two instants. It reads
// /proc, which costs twenty times as much, only if a tick fell between them.
func startTime(sys Sys, pid int, before, after time.Duration) uint64 {
	if before > 0 && before/tick == after/tick {
		return uint64(after / tick)
	}
	p, _ := statProc(sys, pid)
	return p.start
}

// listDir returns the names in a directory.
func listDir(sys Sys, dir int, path string) ([]string, error) {
	fd, err := sys.OpenAt(dir, path, unix.O_RDONLY|unix.O_DIRECTORY)
	if err != nil {
		return nil, err
	}
	defer sys.Close(fd)
	var names []string
	buf := make([]byte, 8192)
	for {
		n, err := sys.ReadDir(fd, buf)
		if err != nil || n == 0 {
			return names, err
		}
		_, _, names = unix.ParseDirent(buf[:n], -1, names)
	}
}

// children returns the direct children of all threads of a process. After an error
// there may be more.
func children(sys Sys, p proc) (pids []int, failed error) {
	tids := []string{strconv.Itoa(p.pid)}
	if p.threads != 1 {
		var err error
		if tids, err = listDir(sys, unix.AT_FDCWD, procPath(p.pid, "task")); err != nil && !isGone(err) {
			failed = err
		}
	}
	for _, tid := range tids {
		text, err := readFile(sys, unix.AT_FDCWD, procPath(p.pid, "task/"+tid+"/children"))
		if err != nil {
			if !isGone(err) { // else the thread has ended: its children are another's
				failed = err
			}
			continue
		}
		for _, f := range bytes.Fields(text) {
			if pid, err := strconv.Atoi(string(f)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids, failed
}

// everyProcess reads the whole process table. After an error there may be more.
func everyProcess(sys Sys) (procs []proc, failed error) {
	names, failed := listDir(sys, unix.AT_FDCWD, "/proc")
	procs = make([]proc, 0, len(names))
	for _, n := range names {
		pid, err := strconv.Atoi(n)
		if err != nil {
			continue
		}
		switch p, err := readProc(sys, pid); {
		case err == nil:
			procs = append(procs, p)
		case !isGone(err):
			failed = err
		}
	}
	return procs, failed
}

// signalProc signals a process seen before. The pidfd and the start time exclude
// another process with its number.
func signalProc(sys Sys, p proc, sigs ...syscall.Signal) {
	fd, err := sys.PidfdOpen(p.pid)
	if err != nil {
		return
	}
	defer sys.Close(fd)
	if now, ok := statProc(sys, p.pid); !ok || now.start != p.start {
		return
	}
	for _, sig := range sigs {
		_ = sys.PidfdSignal(fd, sig, 0) // ESRCH: it has ended; EPERM: it becomes a survivor
	}
}

// survivorsOf describes live processes and what they wait for.
func survivorsOf(sys Sys, pids []int) []messages.Survivor {
	var list []messages.Survivor
	for _, pid := range pids {
		p, ok := statProc(sys, pid)
		if !ok || p.dead() {
			continue
		}
		wchan, _ := readFile(sys, unix.AT_FDCWD, procPath(pid, "wchan"))
		s := messages.Survivor{PID: pid, State: string(p.state)}
		if w := string(bytes.TrimSpace(wchan)); w != "0" {
			s.Wchan = w
		}
		list = append(list, s)
	}
	return list
}
