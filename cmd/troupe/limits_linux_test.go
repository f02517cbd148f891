package main

import (
	"fmt"
	"os"
	"regexp"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/internal/test/need"
	"troupe/messages"
)

// limitOf returns the soft and the hard limit of a process, as /proc shows them.
func limitOf(t *testing.T, pid int, name string) string {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/limits", pid))
	require.NoError(t, err)
	m := regexp.MustCompile(`(?m)^` + name + ` +(\w+) +(\w+)`).FindSubmatch(text)
	require.NotNil(t, m, "%s", text)
	return string(m[1]) + " " + string(m[2])
}

// daemonPID returns the process of a daemon that a command has started.
func (p *process) daemonPID() int {
	p.t.Helper()
	text, err := os.ReadFile(p.file("troupe/daemon.lock"))
	require.NoError(p.t, err)
	pid, err := strconv.Atoi(strings.TrimSpace(string(text)))
	require.NoError(p.t, err)
	return pid
}

// A hard limit that would end the daemon or a keeper refuses its start, and names itself. Other
// commands still run.
func TestFaultLimitsThatEndTheDaemon(t *testing.T) {
	t.Parallel()
	for option, says := range map[string]string{
		"-t 1":       "the limit of CPU time is 1s (ulimit -t): the kernel ends the process at this limit",
		"-t 30":      "the limit of CPU time is 30s (ulimit -t): ",
		"-f 1024":    "the limit of the size of files is 1 MiB (ulimit -f): ",
		"-v 3000000": "the limit of virtual memory is 2929 MiB (ulimit -v): ",
		"-d 400000":  "the limit of data memory is 390 MiB (ulimit -d): ",
	} {
		t.Run(option, func(t *testing.T) {
			t.Parallel()
			d := program(t).bash("ulimit " + option + "; troupe run -b true").start()
			d.ends(125)
			require.Contains(t, d.err.String(), "the daemon would end soon: "+says)
			d.beside().bash("ulimit " + option + "; troupe serve").start().ends(125)
			q := d.beside().bash("ulimit " + option + "; troupe run --detach true").start()
			q.ends(125)
			require.Contains(t, q.err.String(), "the keeper would end soon: "+says)
			q = d.beside().bash("ulimit " + option + "; troupe doctor").start()
			require.Contains(t, q.rest(), "problem: a daemon cannot start: the daemon would end soon: "+says)
			q.ends(1)
			q = d.beside().bash("ulimit " + option + "; troupe run 'echo runs'").start()
			require.Equal(t, "runs\n", q.rest())
			q.ends(0)
			eventually(t, "no daemon and no keeper runs", func() bool {
				keepers, locked := keepersIn(d.file("troupe"))
				return len(keepers) == 0 && !locked
			})
		})
	}
}

// The soft limits of the shell in which the first command runs do not reach the daemon and its
// keepers. Each kind of job starts with those of its shell.
func TestFaultSoftLimitsOfTheFirstShell(t *testing.T) {
	t.Parallel()
	const (
		small = "ulimit -S -f 64; ulimit -S -d 900000; ulimit -S -n 300; ulimit -S -t 1000; "
		look  = "grep -E '^Max (file size|data size|open files|cpu time)' /proc/self/limits | awk '{ print $4 }'"
		want  = "1000\n65536\n921600000\n300\n"
	)
	quoted := strings.ReplaceAll(look, "$", `\$`)
	d := program(t).bash(small + "troupe run -b --name one \"read x < gate-one; " + quoted + "\"")
	t.Cleanup(func() { endJobs(d.dir, d.Env) })
	inSmall := func(args ...string) *process {
		p := d.beside().bash(small + `exec troupe "$@"`)
		p.Args = append(append(p.Args, "bash"), args...)
		return p.start()
	}
	opens := map[string]func(){}
	for _, name := range []string{"one", "text", "program", "terminal", "detached"} {
		opens[name] = gate(t, d.file("gate-"+name))
	}
	d.start().ends(0)
	held := func(name string) string { return "read x < gate-" + name + "; " }
	for name, args := range map[string][]string{ // they look when the engine has reported their start
		"text":     {"-b", held("text") + look},
		"program":  {"-b", "--", "bash", "-c", held("program") + "bash -c \"" + quoted + "\"; true"},
		"terminal": {"-b", "--pty", held("terminal") + look},
		"detached": {"--detach", held("detached") + look},
	} {
		inSmall(append([]string{"run", "--name", name}, args...)...).ends(0)
	}
	prints := func(args ...string) {
		t.Helper()
		p := inSmall(args...)
		require.Equal(t, want, strings.ReplaceAll(p.rest(), "\r", ""), "%q", args)
		p.ends(0)
	}
	for name, open := range opens {
		open()
		d.beside("wait", name).start().ends(0)
		prints("logs", name)
	}
	prints("run", "-s", "pipes", look)
	prints("run", "-s", "terminal", "--pty", look)

	p := d.beside("run", "head -c 1000000 /dev/zero | tr '\\0' x").start()
	require.Equal(t, 1000000, len(p.rest()))
	p.ends(0)

	keeper := keeperPID(t, d.file("troupe"))
	for _, pid := range []int{d.daemonPID(), keeper} {
		for _, name := range []string{"Max file size", "Max data size"} {
			both := strings.Fields(limitOf(t, pid, name))
			require.Equal(t, both[1], both[0], name)
		}
		require.NotEqual(t, "300", strings.Fields(limitOf(t, pid, "Max open files"))[0])
	}
	require.NoError(t, syscall.Kill(keeper, syscall.SIGKILL)) // the next one has them from the daemon
	eventually(t, "there is another keeper", func() bool {
		pids := keepersOf(d.file("troupe"))
		return len(pids) == 1 && pids[0] != keeper
	})
	prints("run", "-s", "other", look)
}

// A detached job that needs no daemon starts with the limits of its shell.
func TestADetachedJobKeepsTheSoftLimits(t *testing.T) {
	t.Parallel()
	d := program(t).bash("ulimit -S -f 64; troupe run --detach --log out 'read x < gate; ulimit -S -f'")
	open := gate(t, d.file("gate"))
	d.start().ends(0)
	both := strings.Fields(limitOf(t, keeperOf(t, d.pidFile("out.pid")), "Max file size"))
	require.Equal(t, both[1], both[0])
	open()
	d.beside("wait", "--pid-file", "out.pid").start().ends(0)
	text, err := os.ReadFile(d.file("out"))
	require.NoError(t, err)
	require.Equal(t, "64\n", string(text))
}

// startWith starts a program from a thread with attributes that a process inherits.
func (p *process) startWith(set func()) *process {
	p.t.Helper()
	need.Thread(func() {
		set()
		p.start()
	})
	return p
}

// ioprio returns the I/O priority of a process.
func ioprio(pid int) uintptr {
	p, _, _ := unix.RawSyscall(unix.SYS_IOPRIO_GET, 1, uintptr(pid), 0)
	return p
}

// The priorities of the command that happens to start the daemon are not those of all jobs. Its
// own job has its nice value and its processors.
func TestTheDaemonHasNotThePriorityOfItsFirstClient(t *testing.T) {
	t.Parallel()
	var every, one unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(0, &every))
	for cpu := range 1024 {
		if every.IsSet(cpu) {
			one.Set(cpu)
			break
		}
	}
	d := program(t, "run", "-b", "--name", "one", "read x < gate")
	open := gate(t, d.file("gate"))
	t.Cleanup(func() { endJobs(d.dir, d.Env) })
	mayRaise := make(chan bool, 1)
	d.startWith(func() {
		_ = unix.Setpriority(unix.PRIO_PROCESS, 0, 15)
		mayRaise <- unix.Setpriority(unix.PRIO_PROCESS, 0, 0) == nil
		_ = unix.SchedSetAttr(0, &unix.SchedAttr{Policy: 3, Nice: 15}, 0) // batch
		_, _, _ = unix.RawSyscall(unix.SYS_IOPRIO_SET, 1, 0, 3<<13)       // idle
		_ = unix.SchedSetaffinity(0, &one)
	}).ends(0)
	job := d.record("one")
	for _, pid := range []int{d.daemonPID(), keeperPID(t, d.file("troupe"))} {
		a, err := unix.SchedGetAttr(pid, 0)
		require.NoError(t, err)
		require.Zero(t, a.Policy, "the scheduling policy")
		if <-mayRaise {
			require.Zero(t, a.Nice)
		}
		mayRaise <- a.Nice == 0
		require.Zero(t, ioprio(pid), "the I/O priority")
		var now unix.CPUSet
		require.NoError(t, unix.SchedGetaffinity(pid, &now))
		require.GreaterOrEqual(t, now.Count(), every.Count(), "the processors")
	}
	pid := int(job["pid"].(float64))
	a, err := unix.SchedGetAttr(pid, 0)
	require.NoError(t, err)
	require.Zero(t, a.Policy, "the scheduling policy")
	require.EqualValues(t, 15, a.Nice)
	var now unix.CPUSet
	require.NoError(t, unix.SchedGetaffinity(pid, &now))
	require.Equal(t, one, now, "the processors")
	open()
}

// What limits a daemon without ending it is in its log, and doctor shows it, for the keeper, too.
func TestLimitsAreReported(t *testing.T) {
	t.Parallel()
	const nice, cpu = "the nice value is 19, also of the jobs of all clients", "the limit of CPU time is 1h0m0s (ulimit -t): the kernel ends the process at this limit"
	p := programFor(t, long).bash("ulimit -t 3600; exec nice -n 19 troupe serve")
	p.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	m := &mortal{process: p, t: t, state: p.file("troupe")}
	m.awakes()
	t.Cleanup(func() { m.swept() })
	for _, text := range []string{nice, cpu} {
		require.Contains(t, m.err.String(), `"level":"warn"`)
		require.Contains(t, m.err.String(), `"message":"the daemon: `+text+`"`)
	}
	require.NotContains(t, m.err.String(), "the keeper: ")
	job := m.run(messages.RunCommand{Program: messages.Program{Text: "sleep 600"}})
	doctor := func(says, not []string) {
		t.Helper()
		q := m.beside("doctor").start()
		text := q.rest()
		q.ends(0)
		for _, s := range says {
			require.Regexp(t, `\n  limit +`+regexp.QuoteMeta(s)+`\n`, text)
		}
		for _, s := range not {
			require.NotContains(t, text, s)
		}
	}
	doctor([]string{"daemon: " + nice, "keeper: " + nice, "daemon: " + cpu, "keeper: " + cpu}, nil)

	m.killed()
	m.again() // without these limits; the keeper still has them
	for _, text := range []string{nice, cpu} {
		m.err.has(t, `"message":"the keeper: `+text+`"`)
		require.NotContains(t, m.err.String(), `"message":"the daemon: `+text)
	}
	doctor([]string{"keeper: " + nice, "keeper: " + cpu}, []string{"daemon: " + nice, "daemon: " + cpu})
	require.True(t, alive(strconv.Itoa(job.PID)))
}
