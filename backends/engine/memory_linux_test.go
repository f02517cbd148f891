package engine

import (
	"os"
	"path/filepath"
	"strconv"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/messages"
)

// Jobs are better victims for the kernel than this process, and so are their children, even
// those that are there before the engine knows of the fork. A job without that option inherits.
func TestJobsHaveTheOOMScoreOfVictims(t *testing.T) {
	own, err := readOOM(kernel{}, unix.Getpid())
	if err != nil {
		t.Fatal(err)
	}
	score := func(r *rig) int {
		r.t.Helper()
		e := r.start(r.spec("sleep 600"))
		n, err := readOOM(kernel{}, await[messages.ProcessStarted](e).PID)
		if err != nil {
			r.t.Error(err)
		}
		e.proc.Stop(messages.Cause{By: messages.ByClient}, -1)
		e.over()
		return n
	}
	t.Run("inherited", func(t *testing.T) {
		if got := score(newRig(t)); got != own {
			t.Errorf("a job has %d, this process %d", got, own)
		}
	})
	for _, users := range []int{own, min(own+50, mostOOM), mostOOM} {
		t.Run(strconv.Itoa(users), func(t *testing.T) {
			r := newRig(t, func(o *Options) { o.OOMScoreAdj = &users })
			want := min(max(users, own+r.e.host.memory.raise()), mostOOM)
			if got := score(r); got != want {
				t.Errorf("a job has %d, want %d", got, want)
			}
		})
	}
	for name, raised := range map[string]string{"child": "", "raised": "echo 1000 > /proc/$BASHPID/oom_score_adj; "} {
		t.Run(name, func(t *testing.T) {
			r, sys := newLateRig(t, func(o *Options) { o.OOMScoreAdj = &own })
			want := mostOOM
			if raised == "" {
				want = min(own+r.e.host.memory.raise(), mostOOM)
			}
			g := newGate(t)
			e := r.start(r.spec("(" + raised + "echo $BASHPID > " + sys.fifo + "; read x < " + g.path + ") & wait"))
			child := within(t, sys.child)
			await[messages.ProcessStarted](e)
			if got, err := readOOM(kernel{}, child); err != nil || got != want {
				t.Errorf("the child has %d, want %d: %v", got, want, err)
			}
			g.open()
			e.over()
		})
	}
}

// The less memory there is, the further are jobs above the keeper.
func TestRaiseOfJobs(t *testing.T) {
	const mib = 1 << 20
	for total, want := range map[uint64]int{^uint64(0): 100, 16384 * mib: 100, 1280 * mib: 100, 1024 * mib: 125, 256 * mib: 500, 128 * mib: 1000, 56 * mib: 1000, 0: 1000} {
		if got := (&sharedMemory{total: total}).raise(); got != want {
			t.Errorf("%d MiB: %d, want %d", total/mib, got, want)
		}
	}
}

// What a count for all jobs says of one.
func TestJudgeOOM(t *testing.T) {
	file := filepath.Join(t.TempDir(), "count")
	if err := os.WriteFile(file, []byte("oom_kill_disable 0\nunder_oom 0\noom_kill 7\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	none := &sharedMemory{sys: kernel{}, kills: -1}
	if got := none.judge(messages.ExitStatus{}, false, 0); got != messages.Unknown {
		t.Errorf("without a count: %v", got)
	}
	m := &sharedMemory{sys: kernel{}, kills: -1}
	m.open(file)
	defer m.close()
	const now = 7
	for _, c := range []struct {
		end     messages.ExitStatus
		stopped bool
		before  int64
		want    messages.Tristate
	}{
		{messages.ExitStatus{Signal: "KILL", Number: 9}, false, now, messages.No},
		{messages.ExitStatus{}, false, now, messages.No},
		{messages.ExitStatus{Signal: "KILL", Number: 9}, false, now - 1, messages.Yes},
		{messages.ExitStatus{Code: 137}, false, now - 2, messages.Yes},
		{messages.ExitStatus{Signal: "KILL", Number: 9}, true, now - 1, messages.Unknown},
		{messages.ExitStatus{Signal: "TERM", Number: 15}, false, now - 1, messages.Unknown},
		{messages.ExitStatus{Code: 1}, false, now - 1, messages.Unknown},
		{messages.ExitStatus{Signal: "KILL", Number: 9}, false, -1, messages.Unknown},
	} {
		if got := m.judge(c.end, c.stopped, c.before); got != c.want {
			t.Errorf("%+v: %v", c, got)
		}
	}
}

// The cgroup of this process is found among those of both versions.
func TestCgroupDirOfAController(t *testing.T) {
	const mounts = "35 31 0:32 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n" +
		"36 31 0:33 /box /sys/fs/cgroup/cpu rw - cgroup none rw,cpu,cpuacct\n" +
		"41 31 0:38 / /sys/fs/cgroup/unified rw - cgroup2 cgroup2 rw\n"
	const member = "9:name=systemd:/\n4:memory:/a/b\n2:cpu,cpuacct:/box/c\n0::/user\n"
	for controller, want := range map[string]string{
		"memory": "/sys/fs/cgroup/memory/a/b", "cpuacct": "/sys/fs/cgroup/cpu/c", "": "/sys/fs/cgroup/unified/user", "pids": "",
	} {
		if got := cgroupDir(mounts, member, controller); got != want {
			t.Errorf("%q: %q, want %q", controller, got, want)
		}
	}
}
