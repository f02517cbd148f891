package engine

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/backends"
	"troupe/internal/test/need"
	"troupe/messages"
)

// laggingSys is a machine on which a KILL does nothing for a while. Of one process it
// shows what the test has made of it.
type laggingSys struct {
	Sys
	dir    string
	pid    atomic.Int64
	change func(stat, status []byte) ([]byte, []byte)
	job    *job
	once   bool // until the tree was looked at
}

// drops reports whether a KILL does nothing now.
func (s *laggingSys) drops() bool { return !s.once || s.job.looks() == 0 }

func (s *laggingSys) Kill(pid int, sig syscall.Signal) error {
	if sig == unix.SIGKILL && s.drops() {
		return nil
	}
	return s.Sys.Kill(pid, sig)
}

func (s *laggingSys) PidfdSignal(fd int, sig syscall.Signal, flags int) error {
	if sig == unix.SIGKILL && s.drops() {
		return nil
	}
	return s.Sys.PidfdSignal(fd, sig, flags)
}

func (s *laggingSys) OpenAt(dir int, path string, flags int) (int, error) {
	pid := int(s.pid.Load())
	switch {
	case strings.HasSuffix(path, "cgroup.kill") && s.drops():
		return s.Sys.OpenAt(unix.AT_FDCWD, os.DevNull, flags)
	case pid == 0 || path != procPath(pid, "stat") && path != procPath(pid, "status"):
		return s.Sys.OpenAt(dir, path, flags)
	}
	stat, err := os.ReadFile(procPath(pid, "stat"))
	if err != nil {
		return -1, unix.ENOENT
	}
	status, err := os.ReadFile(procPath(pid, "status"))
	if err != nil {
		return -1, unix.ENOENT
	}
	stat, status = s.change(stat, status)
	made, text := filepath.Join(s.dir, filepath.Base(path)), stat
	if filepath.Base(path) == "status" {
		text = status
	}
	if err := os.WriteFile(made, text, 0o600); err != nil {
		return -1, err
	}
	return s.Sys.OpenAt(unix.AT_FDCWD, made, flags)
}

// Who has its KILL and waits for a processor is waited for: named is only whom no
// signal reaches (F19).
func TestFaultWhoDiesSlowlyIsNoSurvivor(t *testing.T) {
	for name, change := range dooms {
		t.Run(name, func(t *testing.T) {
			sys, e := newLagging(t, change)
			e.proc.Stop(client(), 0)
			until(t, func() bool { return sys.job.looks() > 0 })
			_ = unix.Kill(int(sys.pid.Load()), unix.SIGKILL)
			x, end := e.over(), await[messages.TreeEnded](e)
			if len(x.Survivors)+len(end.Survivors) > 0 || x.Status.Signal != "KILL" || x.Cause.Signal != "KILL" {
				t.Errorf("%+v, %+v", x, end)
			}
		})
	}
}

// Whom a kill has missed is killed once more before he is named.
func TestFaultWhoWasMissedIsKilledAgain(t *testing.T) {
	sys, e := newLagging(t, func(stat, status []byte) ([]byte, []byte) { return stat, status })
	sys.once = true
	e.proc.Stop(client(), 0)
	x, end := e.over(), await[messages.TreeEnded](e)
	if len(x.Survivors)+len(end.Survivors) > 0 || x.Status.Signal != "KILL" || sys.job.looks() == 0 { // a busy machine takes more looks
		t.Errorf("%+v, %+v, looked at %d times", x, end, sys.job.looks())
	}
}

// Who sleeps, or runs and has no KILL, is not dying.
func TestWhoIsNotDying(t *testing.T) {
	for name, change := range map[string]func(stat, status []byte) ([]byte, []byte){
		"it runs": func(stat, status []byte) ([]byte, []byte) { return inState(stat, "R"), status },
		"it sleeps with its KILL": func(stat, status []byte) ([]byte, []byte) {
			_, status = dooms["it has its KILL"](stat, status)
			return inState(stat, "S"), status
		},
	} {
		t.Run(name, func(t *testing.T) {
			sys, e := newLagging(t, change)
			if sys.job.dying() {
				t.Error("it is")
			}
			_ = unix.Kill(int(sys.pid.Load()), unix.SIGKILL)
			e.over()
		})
	}
}

// withoutMain is a program whose main thread has ended when it prints the id of the other.
const withoutMain = `
import ctypes, os, threading, time

def other():
    while open('/proc/self/stat').read().rsplit(')')[1].split()[0] != 'Z':
        time.sleep(0.01)
    print(threading.get_native_id(), flush=True)
    time.sleep(600)

threading.Thread(target=other).start()
sys_exit = {'x86_64': 60}.get(os.uname().machine, 93)
ctypes.CDLL(None).syscall(sys_exit, 0)  # of this thread alone
`

// A process whose main thread has ended alone lives: KILL for the whole tree reaches it. It is
// dying when its other threads are.
func TestKillReachesAProcessWithoutItsMainThread(t *testing.T) {
	need.Program(t, "python3")
	r := newRig(t)
	e := r.start(r.argv("python3", "-c", withoutMain))
	e.grown(messages.Merged, 0)
	pid := await[messages.ProcessStarted](e).PID
	thread, err := strconv.Atoi(strings.TrimSpace(r.output(e, messages.Merged)))
	if err != nil {
		t.Fatal(err)
	}
	p, _ := statProc(kernel{}, pid)
	if !p.ended() || p.dead() || p.doomed(kernel{}) {
		t.Errorf("it is %+v: ended %v, dead %v, doomed %v", p, p.ended(), p.dead(), p.doomed(kernel{}))
	}
	for name, change := range dooms {
		sys := &laggingSys{Sys: kernel{}, dir: t.TempDir(), change: change}
		sys.pid.Store(int64(thread))
		if !p.doomed(sys) {
			t.Errorf("%s, and the process is not dying", name)
		}
	}
	e.proc.Do(backends.Signal{Name: "KILL", Tree: true})
	if x := e.over(); x.Status.Signal != "KILL" {
		t.Errorf("%+v", x)
	}
}

// dooms are what /proc shows of a process that waits for a processor, or for the kernel, to
// die on.
var dooms = map[string]func(stat, status []byte) ([]byte, []byte){
	"it has its KILL": func(stat, status []byte) ([]byte, []byte) {
		return inState(stat, "R"), anyPending.ReplaceAll(status, []byte("ShdPnd:\t0000000000000100"))
	},
	"it is exiting": func(stat, status []byte) ([]byte, []byte) {
		return withField(inState(stat, "R"), flagsField, "4194308"), status // PF_EXITING, and another
	},
	"it is exiting, and waits for a lock": func(stat, status []byte) ([]byte, []byte) {
		return withField(inState(stat, "D"), flagsField, "4194308"), status
	},
}

// anyPending is what a process is sent and has not had: one that is stopped twice keeps
// the second.
var anyPending = regexp.MustCompile(`ShdPnd:\t[0-9a-f]{16}`)

// The fields of /proc/PID/stat that the tests change, counted from behind the name.
const (
	stateField = 0
	flagsField = 6
)

func inState(stat []byte, state string) []byte { return withField(stat, stateField, state) }

func withField(stat []byte, i int, value string) []byte {
	head, tail, _ := bytes.Cut(stat, []byte(") "))
	f := bytes.Fields(tail)
	f[i] = []byte(value)
	return slices.Concat(head, []byte(") "), bytes.Join(f, []byte(" ")))
}

// newLagging starts a job on such a machine.
func newLagging(t *testing.T, change func(stat, status []byte) ([]byte, []byte)) (*laggingSys, *ear) {
	sys := &laggingSys{Sys: kernel{}, dir: t.TempDir(), change: change}
	r := newRig(t, func(o *Options) { o.Sys = sys })
	e := r.start(r.argv("sleep", "90"))
	sys.pid.Store(int64(await[messages.ProcessStarted](e).PID))
	sys.job = r.e.find(e.id)
	return sys, e
}

// looks is how often a killed tree was looked at.
func (j *job) looks() int {
	j.mu.Lock()
	defer j.mu.Unlock()
	return j.escalation.checks
}
