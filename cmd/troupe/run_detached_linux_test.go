package main

import (
	"encoding/json"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"troupe/backends/keeper"
	"troupe/internal/cli"
	"troupe/internal/cli/config"
)

// detaches runs a command detached, with its log in out.log of the directory, and
// returns its pid file.
func (p *process) detaches(args ...string) keeper.PIDFile {
	p.t.Helper()
	q := p.beside(append([]string{"run", "--detach", "--log", "out.log"}, args...)...).start()
	require.NotEmpty(p.t, q.rest())
	q.ends(0)
	return p.pidFile("out.pid")
}

func (p *process) pidFile(name string) keeper.PIDFile {
	p.t.Helper()
	file, err := keeper.ReadPIDFile(p.file(name))
	require.NoError(p.t, err)
	return file
}

// shows is the record of a detached job by its pid file.
func (p *process) shows(name string) map[string]any {
	p.t.Helper()
	show := p.beside("show", "--json", "--pid-file", name).start()
	var record map[string]any
	require.NoError(p.t, json.Unmarshal([]byte(show.rest()), &record))
	show.ends(0)
	return record
}

// unkept waits until the keeper of a detached job has ended.
func unkept(t *testing.T, file keeper.PIDFile) {
	t.Helper()
	lock, err := os.Open(filepath.Join(file.Dir, "keeper.lock"))
	require.NoError(t, err)
	defer lock.Close()
	require.NoError(t, cli.Control(lock, func(fd int) { err = syscall.Flock(fd, syscall.LOCK_SH) }))
	require.NoError(t, err)
}

// keeperOf is the process that keeps a detached job: its parent.
func keeperOf(t *testing.T, file keeper.PIDFile) int {
	t.Helper()
	return int(statField(t, file.PID, 4))
}

// statField returns a field of /proc/PID/stat after the name.
func statField(t *testing.T, pid, n int) uint64 {
	t.Helper()
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/stat", pid))
	require.NoError(t, err)
	value, err := strconv.ParseUint(strings.Fields(string(text[strings.LastIndexByte(string(text), ')')+1:]))[n-3], 10, 64)
	require.NoError(t, err)
	return value
}

// A detached command needs no daemon: its client returns at once, its log and pid are in
// files, its end is known, and no process is left then.
func TestDetachedWithoutADaemon(t *testing.T) {
	t.Parallel()
	p := program(t)
	open := gate(t, p.file("gate"))
	file := p.detaches("echo one; read x < gate; echo two; exit 5") // its stdout was read to its end
	require.True(t, alive(strconv.Itoa(file.PID)))
	require.Equal(t, statField(t, file.PID, 22), file.StartTime)
	boot, err := os.ReadFile("/proc/sys/kernel/random/boot_id")
	require.NoError(t, err)
	require.Equal(t, strings.TrimSpace(string(boot)), file.BootID)
	own := keeperOf(t, file)
	require.EqualValues(t, own, statField(t, own, 5), "its keeper leads a process group")
	require.EqualValues(t, own, statField(t, own, 6), "its keeper leads a session")
	for _, name := range []string{"out.log", "out.pid"} {
		info, err := os.Lstat(p.file(name))
		require.NoError(t, err)
		require.Equal(t, os.FileMode(0o600), info.Mode(), name)
	}
	require.Equal(t, "running", p.shows("out.pid")["state"])
	q := p.beside("ps").start()
	q.ends(cli.StatusMissing)
	q.err.has(t, "--pid-file")
	wait, again := p.beside("wait", "--pid-file", "out.pid").start(), p.beside("wait", "--pid-file", "out.pid").start()
	q = p.beside("wait", "--pid-file", "out.pid", "--timeout", "1ms").start() // and does not disturb the others
	q.ends(statusTimeout)
	for _, args := range [][]string{{"wait", "--match", "x"}, {"logs", "-f"}} {
		q = p.beside(append(args, "--pid-file", "out.pid")...).start()
		<-q.ended
		q.err.has(t, "troupe serve")
	}
	open()
	wait.ends(5)
	again.ends(5)
	unkept(t, file)
	text, err := os.ReadFile(p.file("out.log"))
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\n", string(text))
	record := p.shows("out.pid")
	require.Equal(t, "exited", record["outcome"])
	require.EqualValues(t, 5, record["exit_code"])
	q = p.beside("logs", "--pid-file", "out.pid").start()
	require.Equal(t, "one\ntwo\n", q.rest())
	q.ends(0)
}

// A wait without a daemon takes no longer than its timeout: the request to the keeper
// does not wait once more.
func TestDetachedWaitKeepsToItsTimeout(t *testing.T) {
	t.Parallel()
	const timeout = 2 * time.Second
	p := program(t)
	p.detaches("exec sleep 600")
	begun := time.Now()
	q := p.beside("wait", "--pid-file", "out.pid", "--timeout", timeout.String()).start()
	q.ends(statusTimeout)
	require.Less(t, time.Since(begun), 2*timeout)
	q = p.beside("kill", "--pid-file", "out.pid").start()
	q.ends(0)
}

// A stop with a scope and a pid file is refused, because it is ambiguous.
func TestStopOfAScopeOrAPidFile(t *testing.T) {
	t.Parallel()
	p := program(t)
	file := p.detaches("exec sleep 600")
	q := p.beside("stop", "--scope", "main/ci", "--pid-file", "out.pid").start()
	q.ends(cli.StatusUsage)
	q.err.has(t, "give one of them")
	require.True(t, alive(strconv.Itoa(file.PID)))
	q = p.beside("kill", "--pid-file", "out.pid").start()
	q.ends(0)
}

// A detached command and all that it has started are ended by its pid file.
func TestDetachedIsStoppedByItsPidFile(t *testing.T) {
	t.Parallel()
	for verb, outcome := range map[string]string{"stop": "cancelled", "kill": "cancelled"} {
		p := program(t)
		passed := post(t, p.file("begun"))
		file := p.detaches("setsid sleep 600 & echo $! > child; echo > begun; exec sleep 600")
		passed()
		child, err := os.ReadFile(p.file("child"))
		require.NoError(t, err)
		q := p.beside(verb, "--pid-file", "out.pid").start()
		q.ends(0)
		gone(t, strconv.Itoa(file.PID), strings.TrimSpace(string(child)))
		unkept(t, file)
		require.Equal(t, outcome, p.shows("out.pid")["outcome"])
		q = p.beside(verb, "--pid-file", "out.pid").start()
		q.ends(0) // it has ended already
	}
}

// A detached command that delays its stop can still be killed.
func TestDetachedIsKilledWhileItIsStopped(t *testing.T) {
	t.Parallel()
	p := program(t)
	asked := post(t, p.file("asked"))
	begun := post(t, p.file("begun"))
	file := p.detaches("trap 'echo > asked' TERM; echo > begun; while :; do sleep 0.02; done")
	begun()
	stop := p.beside("stop", "--grace", "1h", "--pid-file", "out.pid").start()
	asked()
	q := p.beside("kill", "--pid-file", "out.pid").start()
	q.ends(0)
	stop.ends(0)
	unkept(t, file)
	require.Equal(t, "cancelled", p.shows("out.pid")["outcome"])
}

// The deadline of a detached command is its keeper's.
func TestDetachedTimesOutWithoutADaemon(t *testing.T) {
	t.Parallel()
	p := program(t)
	for timeout := 100 * time.Millisecond; ; timeout *= 4 {
		name := timeout.String()
		q := p.beside("run", "--detach", "--log", name+".log", "--timeout", name, "--grace", "100ms", "trap '' TERM; echo begun; while :; do sleep 0.01; done").start()
		<-q.ended
		if q.ProcessState.ExitCode() == statusTimeout && timeout < tooLong {
			continue // its start took so long
		}
		q.ends(0)
		file := p.pidFile(name + ".pid")
		q = p.beside("wait", "--pid-file", name+".pid").start()
		q.ends(statusTimeout)
		unkept(t, file)
		require.Equal(t, "timed_out", p.shows(name + ".pid")["outcome"])
		return
	}
}

// The end of the terminal's session, with its process group, is not the end of what it
// has detached.
func TestDetachedSurvivesLogout(t *testing.T) {
	t.Parallel()
	p := program(t)
	open := gate(t, p.file("gate"))
	c := openTerminal(t)
	shell := p.beside().bash(`troupe run --detach --log out.log 'echo one; read x < gate; echo two; exit 5'; echo there; sleep 600`)
	shell.at(c)
	c.shown.has(t, "there")
	require.NoError(t, syscall.Kill(-shell.Process.Pid, syscall.SIGHUP))
	if err := syscall.Kill(-shell.Process.Pid, syscall.SIGKILL); !errors.Is(err, syscall.ESRCH) { // else they are gone
		require.NoError(t, err)
	}
	<-shell.ended
	_ = c.user.Close() // the terminal hangs up
	file := p.pidFile("out.pid")
	require.Equal(t, "running", p.shows("out.pid")["state"])
	open()
	q := p.beside("wait", "--pid-file", "out.pid").start()
	q.ends(5)
	unkept(t, file)
	text, err := os.ReadFile(p.file("out.log"))
	require.NoError(t, err)
	require.Equal(t, "one\ntwo\n", string(text))
}

// Whose own keeper was killed is lost: it is not said to run, nor to have ended well,
// and nothing of it is left.
func TestDetachedIsLostWithItsKeeper(t *testing.T) {
	t.Parallel()
	for _, daemon := range []bool{false, true} {
		p := program(t)
		if daemon {
			p = serves(t, nil)
		}
		file := p.detaches("echo one; exec sleep 600")
		log := p.beside().bash("exec tail -n +1 -f out.log").start()
		require.Equal(t, "one", log.line()) // what is still in the pipe goes with its reader
		require.NoError(t, syscall.Kill(keeperOf(t, file), syscall.SIGKILL))
		q := p.beside("wait", "--pid-file", "out.pid").start()
		q.ends(125)
		gone(t, strconv.Itoa(file.PID))
		record := p.shows("out.pid")
		require.Equal(t, "lost", record["outcome"])
		require.Nil(t, record["exit_code"])
		text, err := os.ReadFile(p.file("out.log"))
		require.NoError(t, err)
		require.Equal(t, "one\n", string(text))
		unkept(t, file)
	}
}

// A pid file that does not tell of the process which the keeper has started, or that
// others could have written, leads to no signal.
func TestSecurityDetachedPidFiles(t *testing.T) {
	t.Parallel()
	p := program(t)
	file := p.detaches("exec sleep 600")
	stranger := p.beside().bash("echo there; exec sleep 600").start()
	stranger.line()
	other := file
	other.PID = stranger.Process.Pid
	reused, rebooted, elsewhere := file, file, file
	reused.StartTime++
	rebooted.BootID = "00000000-0000-0000-0000-000000000000"
	elsewhere.PID, elsewhere.StartTime = stranger.Process.Pid, statField(t, stranger.Process.Pid, 22)
	elsewhere.Dir = filepath.Join(p.dir, string(file.Job))
	for name, text := range map[string]string{
		"other.pid": other.String(), "reused.pid": reused.String(), "rebooted.pid": rebooted.String(), "elsewhere.pid": elsewhere.String(),
		"bare.pid": strconv.Itoa(stranger.Process.Pid) + "\n", "empty.pid": "", "init.pid": strings.Replace(file.String(), strconv.Itoa(file.PID), "1", 1),
	} {
		require.NoError(t, os.WriteFile(p.file(name), []byte(text), 0o600))
	}
	require.NoError(t, os.WriteFile(p.file("open.pid"), []byte(file.String()), 0o600))
	require.NoError(t, os.Chmod(p.file("open.pid"), 0o644))
	require.NoError(t, os.Symlink("out.pid", p.file("link.pid")))
	require.NoError(t, syscall.Mkfifo(p.file("fifo.pid"), 0o600))
	for name, says := range map[string]string{
		"other.pid": "does not match a job", "reused.pid": "does not match a job", "rebooted.pid": "the machine was rebooted", "elsewhere.pid": "there is no record",
		"bare.pid": "is not a pid file", "empty.pid": "is not a pid file", "init.pid": "is not a pid file",
		"open.pid": "cannot be trusted", "link.pid": "cannot be read", "fifo.pid": "cannot be trusted", "missing.pid": "cannot be read",
	} {
		for _, verb := range []string{"stop", "kill", "show", "wait"} {
			q := p.beside(verb, "--pid-file", name).start()
			<-q.ended
			require.NotZero(t, q.ProcessState.ExitCode(), "%s %s", verb, name)
			q.err.has(t, says)
		}
	}
	require.True(t, alive(strconv.Itoa(stranger.Process.Pid)))
	require.True(t, alive(strconv.Itoa(file.PID)))
	q := p.beside("kill", "--pid-file", "out.pid").start()
	q.ends(0)
}

// Neither the log nor the pid file is written where something is.
func TestSecurityDetachedLogs(t *testing.T) {
	t.Parallel()
	p := program(t)
	require.NoError(t, os.WriteFile(p.file("precious"), []byte("precious"), 0o600))
	require.NoError(t, os.Symlink("precious", p.file("a.log")))
	require.NoError(t, os.Symlink("precious", p.file("b.pid")))
	require.NoError(t, os.Symlink("nothing", p.file("c.log")))
	require.NoError(t, os.WriteFile(p.file("d.log"), []byte("mine"), 0o600))
	require.NoError(t, os.Mkdir(p.file("e.log"), 0o700))
	require.NoError(t, os.Mkdir(p.file("open"), 0o700))
	require.NoError(t, os.Chmod(p.file("open"), 0o777))
	for _, log := range []string{"a.log", "b.log", "c.log", "d.log", "e.log", "none/f.log", "open/g.log", "/"} {
		q := p.beside("run", "--detach", "--log", log, "echo > ran").start()
		<-q.ended
		require.NotZero(t, q.ProcessState.ExitCode(), log)
		q.err.has(t, "log")
	}
	for name, want := range map[string]string{"precious": "precious", "d.log": "mine"} {
		text, err := os.ReadFile(p.file(name))
		require.NoError(t, err)
		require.Equal(t, want, string(text))
	}
	for _, name := range []string{"nothing", "ran", "b.log", "open/g.pid"} {
		require.NoFileExists(t, p.file(name))
	}
}

// One that could not be started leaves no log, so that it can be tried again.
func TestDetachedThatCannotStart(t *testing.T) {
	t.Parallel()
	p := program(t)
	q := p.beside("run", "--detach", "--log", "out.log", "--", "/no/such/program").start()
	q.ends(127)
	require.NoFileExists(t, p.file("out.log"))
	require.NoFileExists(t, p.file("out.pid"))
	file := p.detaches("exit 3")
	q = p.beside("wait", "--pid-file", "out.pid").start()
	q.ends(3)
	unkept(t, file)
}

// Many at a time have an id, a keeper and an end each.
func TestManyDetachedAtOnce(t *testing.T) {
	t.Parallel()
	p := program(t)
	const many = 20
	gate := p.file("gate")
	require.NoError(t, syscall.Mkfifo(gate, 0o600))
	open, err := os.OpenFile(gate, os.O_RDWR, 0) // a fifo loses its contents with the last open descriptor
	require.NoError(t, err)
	defer open.Close()
	var all [many]*process
	for i := range all {
		all[i] = p.beside("run", "--detach", "--log", fmt.Sprintf("%d.log", i), fmt.Sprintf("exec 3<>gate; read x <&3; echo >&3; exec 3<&-; echo %d; exit %d", i, i)).start()
	}
	ids := map[string]bool{}
	for _, q := range all {
		ids[q.rest()] = true
		q.ends(0)
	}
	require.Len(t, ids, many)
	_, err = open.WriteString("\n")
	require.NoError(t, err)
	for i := range all {
		q := p.beside("wait", "--pid-file", fmt.Sprintf("%d.pid", i)).start()
		q.ends(i)
		unkept(t, p.pidFile(fmt.Sprintf("%d.pid", i)))
		text, err := os.ReadFile(p.file(fmt.Sprintf("%d.log", i)))
		require.NoError(t, err)
		require.Equal(t, fmt.Sprintf("%d\n", i), string(text))
	}
}

// A daemon has what was detached before it and under the last one, and knows it by the
// same name; when it forgets a job only the log that was named stays.
func TestTheDaemonFindsDetachedJobs(t *testing.T) {
	t.Parallel()
	p := program(t)
	open := gate(t, p.file("gate"))
	file := p.detaches("--name", "early", "echo one; read x < gate; echo two; exit 5")
	q := p.beside("run", "--detach", "--name", "quick", "echo quick; exit 7").start()
	q.ends(0)
	wait := p.beside("wait", "--pid-file", "out.pid").start() // it goes on by the daemon
	d := p.beside("serve").start()
	d.err.has(t, `"message":"ready"`)
	t.Cleanup(d.swept)
	eventually(t, "the word of its keeper, without which it is starting", func() bool { return d.record("early")["state"] == "running" })
	require.Equal(t, "detached", d.record("early")["mode"])
	q = p.beside("wait", "quick").start()
	q.ends(7)
	q = p.beside("logs", "quick").start()
	require.Equal(t, "quick\n", q.rest())
	q.ends(0)
	open()
	wait.ends(5)
	q = p.beside("wait", "early").start()
	q.ends(5)
	require.EqualValues(t, 5, p.shows("out.pid")["exit_code"])
	for _, name := range []string{"early", "quick"} {
		eventually(t, "the end of all of "+name, func() bool { // it is over a moment after its result
			q := p.beside("rm", name).start()
			<-q.ended
			return q.ProcessState.Success()
		})
	}
	eventually(t, "the directories of the keepers", func() bool {
		left, _ := os.ReadDir(filepath.Dir(file.Dir))
		return len(left) == 0
	})
	require.FileExists(t, p.file("out.log"))
	require.NoFileExists(t, p.file("out.pid"))
}

// The daemon and the common keeper are killed at any instant: what is detached does not
// notice, and loses no byte.
func TestDetachedSurvivesAllOthers(t *testing.T) {
	t.Parallel()
	const deaths, size = 20, 1 << 20
	p := serves(t, nil)
	open := gate(t, p.file("gate"))
	began := time.Now()
	q := p.beside("run", "--detach", "--log", "out.log", "--name", "lasts",
		"for i in $(seq 4000); do echo line $i; done; read x < gate; seq 300000 | head -c "+strconv.Itoa(size)+"; exit 5").start()
	q.ends(0)
	file := p.pidFile("out.pid")
	own, d := keeperOf(t, file), p
	for i := range deaths {
		<-time.After(time.Duration(rand.IntN(20)) * time.Millisecond) // an instant of no meaning
		if i == deaths/2 {
			open()
		}
		d.send(syscall.SIGKILL)
		killKeeper(filepath.Join(p.dir, "troupe", config.KeeperName))
		<-d.ended
		d = p.beside("serve").start()
		d.err.has(t, `"message":"ready"`)
	}
	t.Cleanup(d.swept)
	q = p.beside("wait", "lasts").start()
	q.ends(5)
	text, err := os.ReadFile(p.file("out.log"))
	require.NoError(t, err)
	var want strings.Builder
	for i := range 4000 {
		fmt.Fprintf(&want, "line %d\n", i+1)
	}
	for i := 1; want.Len() < len(text)+8 && i <= 300000; i++ {
		fmt.Fprintf(&want, "%d\n", i)
	}
	require.Equal(t, len("line 1\n")*9+len("line 10\n")*90+len("line 100\n")*900+len("line 1000\n")*3001+size, len(text))
	require.Equal(t, want.String()[:len(text)], string(text))
	unkept(t, file)
	t.Logf("%d deaths in %s under the one keeper %d", deaths, time.Since(began), own)
}

// killKeeper kills the keeper of a directory, if it lives.
func killKeeper(dir string) {
	files, _ := filepath.Glob("/proc/[0-9]*/cmdline")
	for _, file := range files {
		text, _ := os.ReadFile(file)
		if args := strings.Split(string(text), "\x00"); len(args) > 3 && args[1] == "keeper" && args[3] == dir {
			pid, _ := strconv.Atoi(filepath.Base(filepath.Dir(file)))
			_ = syscall.Kill(pid, syscall.SIGKILL)
		}
	}
}
