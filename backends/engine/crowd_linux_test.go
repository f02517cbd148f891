package engine

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"troupe/internal/test/hostile"
	"troupe/internal/test/need"
	"troupe/messages"
)

// A burst of short children, orphaned or not, takes nothing from the result of
// the job, and leaves nothing (F25).
func TestFaultBurstOfChildren(t *testing.T) {
	n := 300
	if need.Soak() {
		n = 10_000
	}
	r := newRig(t)
	_, x := r.run(fmt.Sprintf("for ((i = 0; i < %d; i++)); do (: &) & :; done; wait; exit 7", n))
	if x.Status != (messages.ExitStatus{Code: 7}) || len(x.Survivors) > 0 {
		t.Errorf("%+v", x)
	}
	until(t, func() bool { return !slices.ContainsFunc(ownChildren(t), zombie) })
}

func ownChildren(t *testing.T) []int {
	t.Helper()
	lists, err := filepath.Glob("/proc/self/task/*/children")
	if err != nil {
		t.Fatal(err)
	}
	var pids []int
	for _, l := range lists {
		text, _ := os.ReadFile(l) // the thread may have ended
		for _, word := range bytes.Fields(text) {
			if pid, err := strconv.Atoi(string(word)); err == nil {
				pids = append(pids, pid)
			}
		}
	}
	return pids
}

func zombie(pid int) bool {
	p, ok := statProc(kernel{}, pid)
	return ok && p.state == 'Z'
}

// A stranger who got the pid of the main process that has gone is not signalled
// for the children that it left (F24).
func TestFaultPidIsReused(t *testing.T) {
	need.Feature(t, !modeNow().own, "strangers: whoever descends from this process is the engine's")
	last, err := os.OpenFile("/proc/sys/kernel/ns_last_pid", os.O_WRONLY, 0)
	if err == nil {
		defer last.Close()
		_, err = last.WriteString(strconv.Itoa(os.Getpid()))
	}
	need.Feature(t, err == nil, "the right to choose pids")
	r := newRig(t)
	tree := hostile.Tree{Roots: 1, Kinds: []hostile.Kind{hostile.Session}, Token: fmt.Sprint(os.Getpid(), t.Name()), Leave: true}
	defer endTree(tree)
	for range 50 { // whoever else forks may get the pid, and keep it
		e := r.start(r.argv(tree.Command()...))
		await[messages.ProcessExited](e)
		stranger := impostor(t, last, await[messages.ProcessStarted](e).PID)
		e.proc.Stop(client(), 0)
		if r.e.Features().Isolation == messages.Group {
			endTree(tree) // it left the session
		}
		await[messages.TreeEnded](e)
		if stranger == nil {
			continue
		}
		if p, ok := statProc(kernel{}, stranger.Pid); !ok || p.dead() {
			t.Error("the stranger was signalled")
		}
		return
	}
	t.Fatal("nobody got the pid of a job")
}

// impostor starts a process that has the pid; nil: it is somebody else's.
func impostor(t *testing.T, last *os.File, pid int) *os.Process {
	t.Helper()
	for range 200 { // others fork, too
		if unix.Kill(pid, 0) != unix.ESRCH {
			return nil
		}
		if _, err := last.WriteAt([]byte(strconv.Itoa(pid-1)), 0); err != nil {
			t.Fatal(err)
		}
		p, err := os.StartProcess("/bin/sleep", []string{"sleep", "100"}, &os.ProcAttr{})
		if err != nil {
			t.Fatal(err)
		}
		end := func() {
			_ = p.Kill()
			_, _ = p.Wait()
		}
		if p.Pid == pid {
			t.Cleanup(end)
			return p
		}
		end()
	}
	return nil
}

// A fork bomb at its limit of processes is gone soon after its grace (F18).
func TestFaultForkBomb(t *testing.T) {
	r := newRig(t)
	e := r.up(limited(t) + `
bomb() { bomb | bomb & }
exec 2> /dev/null
echo up
bomb
bomb
wait
sleep 100`)
	began := time.Now()
	until(t, func() bool { return len(sessionOf(await[messages.ProcessStarted](e).PID)) > 50 })
	e.proc.Stop(client(), 100*time.Millisecond)
	x, end := await[messages.ProcessExited](e), await[messages.TreeEnded](e)
	if len(x.Survivors)+len(end.Survivors) > 0 {
		t.Errorf("survivors: %v, %v", x.Survivors, end.Survivors)
	}
	if n := len(sessionOf(await[messages.ProcessStarted](e).PID)); n > 0 {
		t.Errorf("%d processes are left", n)
	}
	t.Logf("gone after %s", time.Since(began))
}

// A job whose last process forks its follower and ends, all the time, is over when the last one is:
// a reading of the process table can show none of them.
func TestFaultChainOfForks(t *testing.T) {
	need.Program(t, "python3")
	r := newRig(t)
	done := filepath.Join(t.TempDir(), "done")
	const chain = `import os, random, sys, time
end = time.monotonic() + 1
while time.monotonic() < end:
    if os.fork():
        os._exit(0)
    time.sleep(random.random() / 2000)
open(sys.argv[1], "w")
`
	for range 3 {
		e := r.start(r.argv("python3", "-c", chain, done))
		await[messages.TreeEnded](e)
		if _, err := os.Stat(done); err != nil {
			t.Fatalf("the job is over before its last process: %v", err)
		}
		_ = os.Remove(done)
	}
}

// limited is the beginning of a text that may have few processes.
func limited(t *testing.T) string {
	t.Helper()
	if os.Geteuid() != 0 {
		return "ulimit -u 500"
	}
	// Root has no limit of its own; the pids controller of the old hierarchy does
	// not touch the engine's cgroups.
	dir, err := os.MkdirTemp("/sys/fs/cgroup/pids", "troupe-test-")
	need.Feature(t, err == nil, "a limit of processes")
	t.Cleanup(func() {
		if err := os.Remove(dir); err != nil {
			t.Error(err)
		}
	})
	if err := os.WriteFile(filepath.Join(dir, "pids.max"), []byte("120"), 0o600); err != nil {
		t.Fatal(err)
	}
	return "echo $$ > " + dir + "/cgroup.procs"
}

// sessionOf are the processes of a session that are alive.
func sessionOf(sid int) []int {
	return hostile.Find(func(pid int) bool {
		p, ok := statProc(kernel{}, pid)
		return ok && p.sid == sid
	})
}
