package main

import (
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"troupe/internal/test/need"
)

// tops starts a daemon with jobs, and troupe top beside it.
func tops(t *testing.T, args string, jobs ...[]string) (d *process, s *sitting) {
	t.Helper()
	need.Program(t, "tmux")
	d = serves(t, nil)
	for _, job := range jobs {
		d.beside(append([]string{"run", "-b"}, job...)...).start().ends(0)
	}
	s = newTmux(t, d.Env).sits("top", "troupe top "+args)
	s.has("q quit")
	return d, s
}

// restores checks the modes of the terminal that are no termios.
func (s *sitting) restores() {
	s.t.Helper()
	settles(s.t, "modes of the terminal that are not as they were", 0, func() int {
		return map[bool]int{false: 1}[strings.HasPrefix(s.state(), "alternate 0, cursor 1 ") && strings.Contains(s.state(), "mouse 000000,")]
	})
}

// lacks waits until a text has left the screen.
func (s *sitting) lacks(text string) {
	s.t.Helper()
	s.t.Cleanup(func() {
		if s.t.Failed() {
			s.t.Logf("%s waited until it lacks %q", s.name, text)
		}
	})
	shown := ""
	defer func() {
		if s.t.Failed() {
			s.t.Logf("%s shows\n%s", s.name, shown)
		}
	}()
	settles(s.t, s.name+" still shows "+text, 0, func() int {
		shown = s.shows()
		return strings.Count(shown, text)
	})
}

var topJobs = [][]string{
	{"--name", "web", "echo listening; exec sleep 313"},
	{"-i", "--name", "ask", `while read -r a; do echo "got $a"; done`},
	{"-s", "dev", "--name", "make", "exec sleep 313"},
	{"--scope", "main/ci", "--pty", "--name", "term", `printf 'begun'; while read -r a; do echo "typed $a"; done`},
}

// The table has scopes, sessions and jobs; the pane the output of the selected job; quit leaves
// the terminal as it was.
func TestTopShowsScopesSessionsAndJobs(t *testing.T) {
	t.Parallel()
	d, s := tops(t, "", topJobs...)
	s.has("\nmain  ")
	s.has("\n j1       web      running ")
	s.has("\n dev               session, busy")
	s.has("\n  j3      make     running ")
	s.has("\n main/ci           1 job")
	s.has("waits for input")
	s.has("── output of j1 in main, default: echo listening; exec sleep 313 ")
	s.has("\nlistening\n")
	require.Contains(t, s.state(), "alternate 1")
	s.keys("End")
	s.has("── screen of j4 in main/ci, default: printf")
	s.has("\nbegun\n")
	d.beside("run", "-b", "--name", "later", "exec sleep 313").start().ends(0)
	s.has("\n j5       later    running ")
	d.beside("stop", "later").start().ends(0)
	s.lacks("later")
	s.keys("e")
	s.has("\n j5       later    cancelled, ")
	s.keys("q")
	s.awaitEnd()
	s.has("begun\nended 0")
	s.restores()
}

// The filter shows what matches, and s sorts. Both are in the first line.
func TestTopFiltersAndSorts(t *testing.T) {
	t.Parallel()
	_, s := tops(t, "", topJobs...)
	s.has(" j1 ")
	s.keys("/", "m", "a", "k", "e")
	s.has("\nfilter: make\n")
	s.lacks(" web ")
	s.has("/make  by age")
	s.keys("Enter")
	s.has("\n  j3      make     running ")
	s.keys("Escape")
	s.has(" web ")
	for _, key := range []string{"cpu", "memory", "output", "duration", "name"} {
		s.keys("s")
		s.has("by " + key)
	}
	s.has("\nj2        ask ")
	require.Regexp(t, `(?s)ask .*make .*term .*web `, s.shows())
	s.keys("r")
	s.has("by name reversed")
	s.keys("q")
	s.awaitEnd()
}

// stop, kill and promote act on the selected job, and say what they have done.
func TestTopStopsKillsAndPromotes(t *testing.T) {
	t.Parallel()
	d, s := tops(t, "-a", topJobs...)
	s.has(" j1 ")
	s.keys("/", "w", "e", "b", "Enter")
	s.has("1 job")
	s.keys("x")
	s.has("\njob j1 stopped\n")
	s.has(" j1       web      cancelled, ")
	require.Equal(t, "cancelled", d.record("j1")["outcome"])
	s.keys("p")
	s.has("\njob j1 has finished (")
	s.keys("Escape")
	s.has(" term ")
	s.keys("/", "m", "a", "k", "e", "Enter")
	s.has("/make")
	s.has("\n  j3 ")
	s.keys("End", "K")
	s.has("\njob j3 killed\n")
	require.Equal(t, "cancelled", d.record("j3")["outcome"])

	shown := d.beside("run", "--name", "fg", "echo begun; exec sleep 313").start()
	require.Equal(t, "begun", shown.line())
	s.keys("Escape")
	s.has(" web ")
	s.keys("/", "f", "g", "Enter")
	s.has("/fg")
	s.has("foreground")
	s.keys("End", "p")
	s.has("\njob j5 is in the background\n")
	shown.rest()
	<-shown.ended
	require.Equal(t, true, d.record("fg")["background"])
	s.keys("Escape")
	s.has(" web ")
	s.keys("Home", "x")
	s.has("stopping the jobs of scope main and below it: sure? y/n")
	s.keys("y")
	s.has("below it: 3 jobs stopped")
	s.keys("q")
	s.awaitEnd()
}

// attach and logs have the terminal, and come back to the table.
func TestTopAttachesAndComesBack(t *testing.T) {
	t.Parallel()
	_, s := tops(t, "", topJobs...)
	s.has(" j1 ")
	s.keys("/", "a", "s", "k", "Enter")
	s.has("1 job")
	s.keys("a")
	s.has("attached to job")
	require.Contains(t, s.state(), "alternate 0")
	s.keys("one", "Enter")
	s.has("\ngot one\n")
	s.keys("C-p", "C-q")
	s.has("troupe top ")
	s.has("── output of j2")
	s.has("\ngot one\n")
	require.Contains(t, s.state(), "alternate 1")

	s.keys("i")
	s.has("\nwrite to j2:\n")
	s.keys("two", "Enter")
	s.has("\ngot two\n")
	s.has("\nwrote 4 bytes to job j2\n")

	s.keys("l")
	s.has("begun\n")
	s.has("got one\ngot two\n")
	s.keys("C-c")
	s.has("── output of j2")
	s.keys("l")
	s.lacks("── output")
	s.keys("C-c")
	s.has("── output of j2")

	s.keys("Escape")
	s.has(" web ")
	s.keys("End", "Enter")
	s.lacks("── ")
	s.keys("three", "Enter")
	s.has("typed three")
	s.keys("C-p", "C-q")
	s.has("── screen of j4")
	s.keys("a")
	s.lacks("── ")
	s.keys("four", "Enter")
	s.has("typed four")
	s.keys("C-c")
	s.has("Enter goes back to troupe top")
	s.keys("Enter")
	s.has("troupe top ")
	s.lacks("term ")
	s.keys("q")
	s.awaitEnd()
	s.restores()
}

// A window of another size gets another table, also a tiny one.
func TestTopFollowsTheSize(t *testing.T) {
	t.Parallel()
	_, s := tops(t, "", topJobs...)
	s.has("── output of j1")
	size := func(cols, rows string) { s.do("resize-window", "-t", s.at(), "-x", cols, "-y", rows) }
	size("130", "40")
	s.has("waits for input")
	s.has("exec sleep 313")
	require.Len(t, strings.Split(s.shows(), "\n"), 40)
	size("40", "10")
	s.lacks("── output")
	s.has("a attach")
	size("10", "3")
	s.lacks("STATUS")
	size("80", "24")
	s.has("q quit")
	s.has("── output of j1")
	s.keys("q")
	s.awaitEnd()
}

// NO_COLOR leaves attributes, so that the selected row is seen. A mouse selects and scrolls.
func TestTopWithoutColours(t *testing.T) {
	t.Parallel()
	d, s := tops(t, "", topJobs...)
	s.has("waits for input")
	colours := func(s *sitting) string { return s.asks("capture-pane", "-e", "-p", "-t", s.at()) }
	require.Contains(t, colours(s), "\x1b[32m")
	mute := s.sits("mute", "NO_COLOR=1 troupe top")
	mute.has("waits for input")
	mute.has("q quit")
	require.NotRegexp(t, `\x1b\[[0-9;]*3[0-7]`, colours(mute))
	require.Contains(t, colours(mute), "7m")
	d.beside("write", "ask", "heard").start().ends(0)
	mute.keys("-l", "\x1b[<0;3;5M") // a click on the third row
	mute.has("── output of j2")
	mute.has("\ngot heard\n")
	mute.keys("-l", "\x1b[<64;3;5M") // the wheel
	mute.has("── scope main")
	mute.keys("q")
	mute.awaitEnd()
	mute.restores()
}

// A killed or crashed troupe top leaves the terminal whole.
func TestFaultTopIsKilled(t *testing.T) {
	t.Parallel()
	need.Program(t, "tmux")
	for name, sig := range map[string]syscall.Signal{"killed": syscall.SIGKILL, "crashed": syscall.SIGABRT, "ended": syscall.SIGTERM, "hung": syscall.SIGHUP} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := serves(t, nil)
			d.beside("run", "-b", "--name", "web", "exec sleep 313").start().ends(0)
			s := newTmux(t, d.Env).sits(name, `(echo $BASHPID > pid; exec troupe top); status=$?; until stty -g | cmp -s before; do read -r -t 0.02 < <(sleep 1); done; echo status $status`)
			s.has(" web ")
			require.NotContains(t, s.state(), "mouse 000000,")
			s.signals("pid", sig)
			s.awaitEnd()
			s.restores()
			if sig != syscall.SIGABRT { // the status of a Go program that crashes is 2
				s.has("status " + map[syscall.Signal]string{syscall.SIGKILL: "137", syscall.SIGTERM: "143", syscall.SIGHUP: "129"}[sig])
			}
		})
	}
}

// The verb that has the terminal of a killed top ends with it, and gives the terminal back.
func TestFaultTopIsKilledWhileAttached(t *testing.T) {
	t.Parallel()
	need.Program(t, "tmux")
	need.Program(t, "pgrep")
	d := serves(t, nil)
	d.beside("run", "-b", "--pty", "--name", "term", `printf '\033[?1003hbegun'; while read -r a; do echo "typed $a"; done`).start().ends(0)
	s := newTmux(t, d.Env).sits("top", `(echo $BASHPID > pid; exec troupe top); until stty -g | cmp -s before; do read -r -t 0.02 < <(sleep 1); done; echo over`)
	s.has(" term ")
	s.keys("a")
	s.lacks("── ")
	s.keys("one", "Enter")
	s.has("typed one")
	s.kills("pid")
	s.has("over")
	s.awaitEnd()
	s.restores()
	settles(t, "clients that are still attached", 0, func() int {
		written, err := exec.Command("pgrep", "-x", "-f", "[^ ]*troupe attach j1").Output()
		if err != nil {
			return 0
		}
		n := 0
		for pid := range strings.FieldsSeq(string(written)) {
			if env, _ := os.ReadFile("/proc/" + pid + "/environ"); strings.Contains(string(env), "HOME="+d.dir+"\x00") {
				n++
			}
		}
		return n
	})
}

// top stays over the end of the daemon, and shows the jobs of the next one.
func TestFaultTopOutlivesTheDaemon(t *testing.T) {
	t.Parallel()
	need.Program(t, "tmux")
	m := begins(t)
	m.beside("run", "-b", "--name", "web", "echo listening; exec sleep 313").start().ends(0)
	s := newTmux(t, m.Env).sits("top", "troupe top")
	s.has(" web ")
	m.killed()
	s.has("\nthe connection to the daemon broke: ")
	s.has(" web ")
	m.again()
	m.beside("run", "-b", "--name", "next", "exec sleep 313").start().ends(0)
	s.has(" next ")
	s.has(" web ")
	s.lacks("broke")
	s.has("\nlistening\n")
	s.keys("q")
	s.awaitEnd()
}

// Without a terminal top says what prints the table; its flags are checked first.
func TestBadInputTop(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for _, c := range []struct {
		args []string
		says string
	}{
		{[]string{"top"}, "troupe: top needs a terminal with a movable cursor on stdin and stdout (troupe ps prints the table once)\n"},
		{[]string{"top", "--sort", "size"}, "troupe: invalid sort \"size\": use age, cpu, memory, output, duration or name\n"},
		{[]string{"top", "--scope", "a//b"}, "invalid scope"},
		{[]string{"top", "--json"}, "has no JSON output"},
		{[]string{"top", "j1"}, "j1"},
	} {
		p := d.beside(c.args...).start()
		stdout := p.rest()
		p.ends(2)
		require.Contains(t, p.err.String()+stdout, c.says, "%v", c.args)
	}
	s := newTmux(t, d.Env).sits("dumb", "TERM=dumb troupe top")
	s.awaitEnd()
	s.has("top needs a terminal with a movable cursor")
	s.has("ended 2")
}
