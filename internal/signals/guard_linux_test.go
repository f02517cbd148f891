//go:build amd64 || arm64

package signals

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"strconv"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"
)

// roleVar makes this test program a process of a test.
const roleVar = "TROUPE_TEST_ROLE"

func TestMain(m *testing.M) {
	switch role := os.Getenv(roleVar); role {
	case "":
		for sig := syscall.Signal(1); sig < classic; sig++ {
			if signal.Ignored(sig) { // under nohup
				signal.Notify(make(chan os.Signal, 1), sig) // children start with the default
			}
		}
		os.Exit(m.Run())
	case "guarded", "late", "plain", "ignoring":
		guardedMain(role)
	default:
		senderMain(role)
	}
}

// guardedMain plays a process with jobs. It runs each line of its input as a job, and
// prints the reports of its guard and "ran" after each job. TERM ends it with 7.
func guardedMain(role string) {
	ended := make(chan os.Signal, 1)
	if role != "late" {
		signal.Notify(ended, unix.SIGTERM)
	}
	if role == "ignoring" {
		signal.Ignore(unix.SIGINT)
	}
	var out sync.Mutex
	guard, err := NewGuard("/nowhere")
	if err != nil {
		panic(err)
	}
	go guard.Run(func(s Sender) {
		out.Lock()
		defer out.Unlock()
		verb := "obeyed"
		if s.Refused != "" {
			verb = "refused"
		}
		fmt.Printf("%s %s\n", verb, s)
	})
	if role == "late" { // the runtime leaves the entry in place
		signal.Notify(ended, unix.SIGTERM, unix.SIGQUIT)
		signal.Stop(ended)
		signal.Reset(unix.SIGTERM)
		signal.Notify(ended, unix.SIGTERM)
	}
	if role == "plain" {
		signal.Stop(ended)
	}
	go func() {
		<-ended
		os.Exit(7)
	}()
	in := bufio.NewScanner(os.Stdin)
	for in.Scan() {
		if in.Text() == "fault" {
			fault()
		}
		cmd := exec.Command("sh", "-c", in.Text())
		cmd.Stderr = os.Stderr
		text, _ := cmd.Output()
		out.Lock()
		fmt.Printf("%sran\n", text)
		out.Unlock()
	}
}

// fault recovers from one fault of memory, and dies of the next.
func fault() {
	var none *int
	func() {
		defer func() { fmt.Println(recover()) }()
		*none = 1
	}()
	*none = 1
}

// senderMain sends TERM to a process in a way that may hide the sender.
func senderMain(role string) {
	var to int
	_, _ = fmt.Sscan(os.Args[1], &to)
	switch role {
	case "queue": // sigqueue in the name of process 1
		info := struct {
			signo, errno, code, pad int32
			pid, uid                int32
			rest                    [104]byte
		}{signo: int32(unix.SIGTERM), code: -1, pid: 1}
		if _, _, err := unix.Syscall(unix.SYS_RT_SIGQUEUEINFO, uintptr(to), uintptr(unix.SIGTERM), uintptr(unsafe.Pointer(&info))); err != 0 {
			panic(err)
		}
	case "owner": // the kernel sends it when a socket can be read
		fds, err := unix.Socketpair(unix.AF_UNIX, unix.SOCK_STREAM, 0)
		if err != nil {
			panic(err)
		}
		for _, set := range [][2]int{{unix.F_SETOWN, to}, {unix.F_SETSIG, int(unix.SIGTERM)}, {unix.F_SETFL, unix.O_ASYNC}} {
			if _, err := unix.FcntlInt(uintptr(fds[0]), set[0], set[1]); err != nil {
				panic(err)
			}
		}
		_, _ = unix.Write(fds[1], []byte("x"))
	case "thread":
		if err := unix.Tgkill(to, to, unix.SIGTERM); err != nil {
			panic(err)
		}
	}
}

// guardedProcess is a process in the role of guardedMain.
type guardedProcess struct {
	*exec.Cmd
	t   *testing.T
	in  io.WriteCloser
	out *bufio.Scanner
	err bytes.Buffer
}

func startGuarded(t *testing.T, role string) *guardedProcess {
	t.Helper()
	p := &guardedProcess{Cmd: exec.Command(os.Args[0]), t: t}
	p.Env = append(os.Environ(), roleVar+"="+role)
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // as a keeper
	p.Stderr = &p.err
	in, err := p.StdinPipe()
	require.NoError(t, err)
	out, err := p.StdoutPipe()
	require.NoError(t, err)
	p.in, p.out = in, bufio.NewScanner(out)
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
	})
	p.run("true")
	return p
}

// send asks for a job.
func (p *guardedProcess) send(job string) {
	_, err := io.WriteString(p.in, job+"\n")
	require.NoError(p.t, err)
}

// until returns the lines up to one with a text.
func (p *guardedProcess) until(text string) string {
	p.t.Helper()
	var got []string
	for p.out.Scan() {
		got = append(got, p.out.Text())
		if strings.Contains(p.out.Text(), text) {
			return strings.Join(got, "\n")
		}
	}
	p.t.Fatalf("no line with %q in %q", text, got)
	return ""
}

// run runs a job.
func (p *guardedProcess) run(job string) string {
	p.t.Helper()
	p.send(job)
	return p.until("ran")
}

// refuses runs a job that sends a signal, and expects its refusal.
func (p *guardedProcess) refuses(sig, job string) {
	p.t.Helper()
	p.send(job)
	var ran, refused bool
	for !(ran && refused) && p.out.Scan() {
		ran = ran || p.out.Text() == "ran"
		refused = refused || strings.HasPrefix(p.out.Text(), "refused "+sig+" from ")
	}
	require.True(p.t, ran && refused, "%s", job)
}

// ended returns the status of a process that ends.
func (p *guardedProcess) ended() syscall.WaitStatus {
	for p.out.Scan() {
	}
	_ = p.Wait()
	return p.ProcessState.Sys().(syscall.WaitStatus)
}

func TestFaultJobsSignalTheirSupervisor(t *testing.T) {
	t.Parallel()
	p := startGuarded(t, "guarded")
	for _, sig := range guarded {
		p.refuses(signalName(sig), fmt.Sprintf("kill -%d $PPID; sleep 0.01", sig))
	}
	for sig := 1; sig <= 64; sig++ {
		if sig != int(unix.SIGKILL) && sig != int(unix.SIGSTOP) {
			p.run(fmt.Sprintf("kill -%d $PPID", sig))
		}
	}
	p.run("setsid sh -c 'kill -HUP $0; kill -TERM $0; kill -QUIT $0' $PPID")
	p.run("for i in 1 2 3 4 5 6 7 8 9; do kill -TERM $PPID; kill -SEGV $PPID; kill -QUIT $PPID; done")
	require.NoError(t, p.Process.Signal(unix.SIGTERM))
	require.Contains(t, p.until("obeyed TERM"), fmt.Sprintf("process %d", os.Getpid()))
	require.Equal(t, 7, p.ended().ExitStatus())
}

// The sender in the siginfo of these signals can be any number.
func TestFaultSignalsWithAForgedSender(t *testing.T) {
	t.Parallel()
	for _, role := range []string{"guarded", "late"} {
		p := startGuarded(t, role)
		for _, how := range []string{"queue", "owner", "thread"} {
			p.refuses("TERM", roleVar+"="+how+" "+os.Args[0]+" $PPID; sleep 0.01")
		}
		require.NoError(t, p.Process.Signal(unix.SIGTERM))
		require.Equal(t, 7, p.ended().ExitStatus())
	}
}

// The operator gets what Go does with a signal.
func TestSignalsOfAnOperatorKeepTheirMeaning(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		role string
		sig  unix.Signal
		code int // exit status; -1: ended by the signal
		text string
	}{
		{"guarded", unix.SIGTERM, 7, ""},
		{"plain", unix.SIGTERM, -1, ""},
		{"guarded", unix.SIGHUP, -1, ""},
		{"guarded", unix.SIGQUIT, 2, "SIGQUIT: quit"},
		{"guarded", unix.SIGILL, 2, "SIGILL: illegal instruction"},
		{"guarded", unix.SIGABRT, 2, "SIGABRT: abort"},
		{"guarded", unix.SIGSEGV, 2, "SIGSEGV: segmentation violation"},
	} {
		p := startGuarded(t, c.role)
		require.NoError(t, p.Process.Signal(c.sig))
		status := p.ended()
		require.Equal(t, c.code, status.ExitStatus(), "%s %v: %v", c.role, c.sig, p.err.String())
		require.Equal(t, c.code == -1, status.Signaled())
		require.Contains(t, p.err.String(), c.text)
	}
}

func TestMemoryFaultsReachTheRuntime(t *testing.T) {
	t.Parallel()
	p := startGuarded(t, "guarded")
	p.send("fault")
	p.until("invalid memory address or nil pointer dereference")
	require.Equal(t, 2, p.ended().ExitStatus())
	require.Contains(t, p.err.String(), "[signal SIGSEGV: segmentation violation code=")
}

// A signal that a process ignores stays ignored, also in its jobs. Others have their
// default in jobs. The test itself may ignore some from its start, as under nohup.
func TestJobsInheritNoEntry(t *testing.T) {
	t.Parallel()
	own, err := os.ReadFile("/proc/self/status")
	require.NoError(t, err)
	p := startGuarded(t, "ignoring")
	got := p.run("exec cat /proc/self/status")
	const interrupt = 1 << (unix.SIGINT - 1)
	require.Equal(t, signalSet(t, string(own), "SigIgn")|interrupt, signalSet(t, got, "SigIgn"))
	require.Zero(t, signalSet(t, got, "SigCgt"))
}

// signalSet reads a line of /proc/PID/status.
func signalSet(t *testing.T, status, name string) uint64 {
	t.Helper()
	_, after, found := strings.Cut(status, name+":\t")
	require.True(t, found)
	digits, _, _ := strings.Cut(after, "\n")
	set, err := strconv.ParseUint(digits, 16, 64)
	require.NoError(t, err)
	return set
}

func TestASenderThatHasEndedIsRefused(t *testing.T) {
	t.Parallel()
	cmd := exec.Command("true")
	require.NoError(t, cmd.Run())
	g := &Guard{root: "/nowhere", self: os.Getpid()}
	s := g.trace(unix.SIGTERM, siUser, cmd.Process.Pid)
	require.Equal(t, "the sender has ended and cannot be checked", s.Refused)
	require.Empty(t, g.trace(unix.SIGTERM, siUser, 1).Refused)
	require.Empty(t, g.trace(unix.SIGTERM, siUser, 0).Refused)
	require.Empty(t, g.trace(unix.SIGTERM, siUser, os.Getppid()).Refused)
	require.NotEmpty(t, g.trace(unix.SIGTERM, siUser, os.Getpid()).Refused)
	require.NotEmpty(t, g.trace(unix.SIGTERM, -1, 1).Refused)
}

// A flood of refused signals fills no log.
func TestFewRefusedSignalsAreForALog(t *testing.T) {
	t.Parallel()
	g := &Guard{}
	for i := range maxRefused + 5 {
		var s Sender
		g.limit(&s)
		require.Equal(t, i >= maxRefused, s.Quiet)
	}
	g.second = g.second.Add(-2 * time.Second)
	s := Sender{Signal: unix.SIGTERM, PID: 12, Command: "sh", Job: "j3", Refused: "why"}
	g.limit(&s)
	require.Equal(t, "TERM from process 12 (sh) of job j3: why (5 more were refused before)", s.String())
}

// A process that was reaped during the read has no parent in /proc, as init has.
func TestAReapedSenderIsNotOutside(t *testing.T) {
	t.Parallel()
	rest := " 0 0 0 0 0 0 0 0 0 0 20 0 0 99 0 0"
	_, ok := parseStat(7, []byte("7 (a) b) X 0 -1 -1 0 -1"+rest))
	require.False(t, ok)
	p, ok := parseStat(7, []byte("7 (a) b) Z 5 7 7 0 -1"+rest))
	require.True(t, ok)
	require.Equal(t, process{pid: 7, ppid: 5, name: "a) b", start: 99}, p)
}

// A job of another keeper of the same state directory may not end this process. A keeper
// around this process, of another state directory, does not count.
func TestJobsOfOtherKeepers(t *testing.T) {
	t.Parallel()
	keeper := exec.Command("sh", "-c", "sleep 100 & echo $!; wait", "keeper", "--dir", "/state/keeper", "--fd", "3")
	keeper.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	out, err := keeper.StdoutPipe()
	require.NoError(t, err)
	require.NoError(t, keeper.Start())
	t.Cleanup(func() {
		_ = unix.Kill(-keeper.Process.Pid, unix.SIGKILL)
		_ = keeper.Wait()
	})
	var job int
	_, err = fmt.Fscan(out, &job)
	require.NoError(t, err)
	for _, root := range []string{"/state", "/other"} {
		g := &Guard{root: root, self: os.Getpid()}
		require.Contains(t, g.trace(unix.SIGTERM, siUser, job).Refused, "the sender belongs to a job of keeper ")
	}
	require.NotEmpty(t, (&Guard{root: "/state", self: job}).trace(unix.SIGTERM, siUser, keeper.Process.Pid).Refused)
	inner := &Guard{root: "/other", self: job}
	require.Empty(t, inner.trace(unix.SIGTERM, siUser, keeper.Process.Pid).Refused)
}
