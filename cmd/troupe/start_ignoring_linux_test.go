package main

import (
	"fmt"
	"os"
	"runtime"
	"strings"
	"syscall"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// signalsVar makes the program start as from a parent that ignores and blocks signals: it
// holds both sets, as /proc/PID/status shows them.
const signalsVar = "TROUPE_TEST_SIGNALS"

const (
	everySignal = ^uint64(0) &^ (1<<(unix.SIGKILL-1) | 1<<(unix.SIGSTOP-1))
	// lookAtSignals prints what a process ignores and blocks.
	lookAtSignals = "grep -E '^Sig(Blk|Ign)' /proc/self/status"
	cleanSignals  = "SigBlk:\t0000000000000000\nSigIgn:\t0000000000000000\n"
)

// startIgnoring executes this program anew with the signals of signalsVar, if it is set.
func startIgnoring() {
	var ignored, blocked uint64
	if n, _ := fmt.Sscanf(os.Getenv(signalsVar), "%x %x", &ignored, &blocked); n != 2 {
		return
	}
	_ = os.Unsetenv(signalsVar)
	self, err := os.Executable()
	if err != nil {
		panic(err)
	}
	runtime.LockOSThread()
	for sig := range 64 {
		if ignored&(1<<sig) != 0 {
			action := [8]uint64{1} // SIG_IGN
			_, _, _ = unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(sig+1), uintptr(unsafe.Pointer(&action)), 0, 8, 0, 0)
		}
	}
	_ = unix.PthreadSigmask(unix.SIG_SETMASK, &unix.Sigset_t{Val: [16]uint64{blocked}}, nil)
	panic(unix.Exec(self, os.Args, os.Environ()))
}

// ignoring makes a program start with ignored and blocked signals.
func (p *process) ignoring(ignored, blocked uint64) *process {
	p.Env = append(p.Env, fmt.Sprintf("%s=%x %x", signalsVar, ignored, blocked))
	return p
}

func signalSet(sigs ...syscall.Signal) (set uint64) {
	for _, sig := range sigs {
		set |= 1 << (sig - 1)
	}
	return set
}

// A command of troupe's own process has the default action of every signal and blocks
// none, whatever troupe was started with.
func TestACommandHasDefaultSignals(t *testing.T) {
	t.Parallel()
	for name, given := range map[string][2]uint64{
		"nothing":            {},
		"nohup":              {signalSet(unix.SIGHUP), 0},
		"a background job":   {signalSet(unix.SIGINT, unix.SIGQUIT), 0},
		"no job control":     {signalSet(unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU, unix.SIGCONT), 0},
		"an old Python":      {signalSet(unix.SIGPIPE, unix.SIGXFSZ), 0},
		"a careless parent":  {signalSet(unix.SIGCHLD), 0},
		"real-time signals":  {everySignal &^ (1<<31 - 1), everySignal &^ (1<<31 - 1)},
		"a mask of a runner": {0, signalSet(unix.SIGTERM, unix.SIGINT, unix.SIGCHLD, unix.SIGUSR1, unix.SIGALRM)},
		"all":                {everySignal, everySignal},
	} {
		for kind, flags := range map[string][]string{"text": {lookAtSignals}, "program": strings.Fields("-- grep -E ^Sig(Blk|Ign) /proc/self/status")} {
			t.Run(name+", "+kind, func(t *testing.T) {
				t.Parallel()
				p := program(t, append([]string{"run", "--no-daemon"}, flags...)...).ignoring(given[0], given[1]).start()
				require.Equal(t, cleanSignals, p.rest())
				p.ends(0)
			})
		}
		t.Run(name+", terminal", func(t *testing.T) {
			t.Parallel()
			p := program(t, "run", "--no-daemon", "--pty", lookAtSignals).ignoring(given[0], given[1]).start()
			require.Equal(t, cleanSignals, strings.ReplaceAll(p.rest(), "\r", ""))
			p.ends(0)
		})
	}
}

// The same holds for every kind of job of a daemon that was started so, with its keeper.
func TestAJobHasDefaultSignals(t *testing.T) {
	t.Parallel()
	d := program(t, "run", "-b", "--name", "one", lookAtSignals).ignoring(everySignal, everySignal)
	t.Cleanup(func() { endJobs(d.dir, d.Env) })
	require.NoError(t, os.WriteFile(d.file(".bashrc"), []byte(lookAtSignals+" > $HOME/of-the-snapshot\n"), 0o600))
	d.start() // it starts the daemon
	d.ends(0)
	prints := func(args ...string) {
		t.Helper()
		p := d.beside(args...).start()
		require.Equal(t, cleanSignals, strings.ReplaceAll(p.rest(), "\r", ""), "%q", args)
		p.ends(0)
	}
	d.beside("wait", "one").start().ends(0)
	prints("logs", "one")
	prints("run", lookAtSignals)
	prints("run", "--pty", lookAtSignals)
	for _, shell := range []string{"bash", "sh"} {
		prints("run", "-s", "pipes-"+shell, "--shell", shell, lookAtSignals)
		prints("run", "-s", "terminal-"+shell, "--shell", shell, "--pty", lookAtSignals)
	}
	d.beside("run", "--detach", "--name", "apart", lookAtSignals).start().ends(0)
	d.beside("wait", "apart").start().ends(0)
	prints("logs", "apart")
	noticed := post(t, d.file("noticed"))
	d.beside("run", "--on-finish", lookAtSignals+" > of-the-notice; echo > noticed", "true").start().ends(0)
	noticed()
	for _, file := range []string{"of-the-notice", "of-the-snapshot"} {
		got, err := os.ReadFile(d.file(file))
		require.NoError(t, err)
		require.Equal(t, cleanSignals, string(got), file)
	}
}

// A troupe that was started with ignored signals ignores them still.
func TestTroupeIgnoresWhatItWasStartedWith(t *testing.T) {
	t.Parallel()
	ignored := signalSet(unix.SIGHUP, unix.SIGINT, unix.SIGTSTP, unix.SIGTTIN, unix.SIGTTOU)
	p := program(t, "run", "--no-daemon", "echo up; read x; grep ^SigIgn /proc/$PPID/status").ignoring(ignored, 0)
	in, err := p.StdinPipe()
	require.NoError(t, err)
	p.start()
	require.Equal(t, "up", p.line())
	for _, sig := range []syscall.Signal{unix.SIGHUP, unix.SIGINT, unix.SIGTSTP} {
		p.send(sig)
	}
	_, _ = in.Write([]byte("go on\n"))
	require.Equal(t, fmt.Sprintf("SigIgn:\t%016x\n", ignored), p.rest())
	p.ends(0)
}
