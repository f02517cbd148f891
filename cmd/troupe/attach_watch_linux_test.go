package main

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"
	"golang.org/x/sys/unix"

	"troupe/internal/test/need"
)

// paintsOnCue paints, and continues when the test writes to a pipe.
const paintsOnCue = `stty -echo; mkfifo first second; printf '\033[?1049h\033[2;3Hbefore\033[?25l'; read x < first; printf '\033[31m\033[5;1Hred\033[6n\033[0m\n'; printf '\033[?1000h'; read x < second; exit 4`

// A client that watches a job's terminal on its own terminal gets the screen and then the
// same bytes, without terminal queries; elsewhere it prints text. Its terminal is
// restored, and the size of the job's terminal does not change.
func TestWatchShowsATerminal(t *testing.T) {
	t.Parallel()
	const first = "\x1b[?1049h\x1b[H\x1b[2J\r\n  before\x1b[2;9H\x1b[?25l"
	const second = "\x1b[31m\x1b[5;1Hred\x1b[0m\r\n\x1b[?1000h"
	d := serves(t, nil)
	d.beside("run", "--pty", "-b", "--name", "paints", paintsOnCue).start().ends(0)
	d.beside("wait", "--match", "before", "paints").start().ends(0)

	left, killed, stays := openTerminal(t), openTerminal(t), openTerminal(t)
	before := left.modes(t)
	p, k, s := d.beside("attach", "--watch", "paints").at(left), d.beside("attach", "--watch", "paints").at(killed), d.beside("attach", "--watch", "paints").at(stays)
	for _, c := range []*console{left, killed, stays} {
		c.shown.has(t, first)
	}
	if now := left.modes(t); now.Lflag&(unix.ECHO|unix.ISIG) != unix.ISIG || now.Oflag&unix.OPOST != 0 {
		t.Errorf("the terminal is %+v", now)
	}
	d.beside("wait", "--timeout", "1m", "--match", "before", "paints").start().ends(0)
	d.beside("run", "echo > first").start().ends(0)
	for _, c := range []*console{left, killed, stays} {
		c.shown.has(t, second)
	}
	left.keys(t, "typed for nobody\x03")
	p.ends(130)
	k.send(unix.SIGKILL)
	k.ends(137)
	for _, c := range []*console{left, killed} {
		c.shown.has(t, second+"\x1b[?1049l\x1b[?1000l\x1b[?25h")
	}
	if after := left.modes(t); after != before {
		t.Errorf("the terminal is left as %+v, it was %+v", after, before)
	}
	if record := d.record("paints"); record["terminal"].(map[string]any)["rows"] != 24.0 {
		t.Errorf("the terminal is %v", record["terminal"])
	}
	d.beside("run", "echo > second").start().ends(0)
	s.ends(4)
	if got := stays.shown.String(); got != first+second+"\x1b[?1049l\x1b[?1000l\x1b[?25h" {
		t.Errorf("it showed %q", got)
	}
}

// A client that attaches at a prompt sees it, with the cursor after it, even if the
// program does not write it again. Typed input comes after the prompt.
func TestAttachShowsThePrompt(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "--pty", "-b", "--name", "asks", `echo before; printf '\033[31mname> \033[0m'; read x; echo "is:$x"; exit 4`).start().ends(0)
	d.beside("wait", "--match", "name> ", "asks").start().ends(0)

	sits, watches := openTerminal(t), openTerminal(t)
	w := d.beside("attach", "--watch", "asks").at(watches)
	watches.shown.has(t, "name>\r\x1b[6C")
	p := d.beside("attach", "asks").at(sits) // it changes the size for a moment, so that programs draw themselves again
	sits.shown.has(t, "name>\r\x1b[6C")
	sits.keys(t, "me\r")
	p.ends(4)
	w.ends(4)
	for c, begins := range map[*console]string{sits: "troupe: attached to job j1: ctrl-p ctrl-q leaves it running, and Ctrl-C goes to the job\r\n", watches: ""} {
		if got, want := c.shown.String(), begins+"name>\r\x1b[6Cme\r\nis:me\r\n"; got != want {
			t.Errorf("it showed %q, want %q", got, want)
		}
	}
}

// Where nothing is shown at a terminal, the output of one is text.
func TestWatchPrintsText(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "--pty", "-b", "--name", "ticks", `while :; do printf '\033[31mtick\033[0m\033[?25l\n'; sleep 0.05; done`).start().ends(0)
	p := d.beside("attach", "--watch", "ticks").start()
	for range 3 {
		require.Equal(t, "tick", p.line())
	}
	p.send(unix.SIGINT)
	p.ends(130)
}

// A client that watches sees the screen of an editor from the start of its attachment.
func TestWatchProgram(t *testing.T) {
	t.Parallel()
	need.Program(t, "vim")
	x := newTmux(t, serves(t, nil).Env)
	sits := x.sits("sits", "troupe run --pty --name ed vim -u NONE -i NONE -N text")
	sits.has(`"text" [New]`)
	sits.keys("i", "one", "Enter", "two")
	sits.has("one\ntwo")
	watches := x.sits("watches", "troupe attach --watch ed")
	watches.has("one\ntwo")
	sits.keys("Enter", "three", "Escape", "k", "x")
	sits.has("one\ntw\nthree")
	settles(t, "screens that differ", 0, func() int {
		if watches.shows() == sits.shows() {
			return 0
		}
		return 1
	})
	watches.keys("C-c")
	watches.awaitEnd()
	require.Contains(t, watches.shows(), "begun\nended 130")
	sits.keys(":q!", "Enter")
	sits.awaitEnd()
}

// TSTP does not suspend a client that has changed its terminal, because the shell would
// get the changed terminal. This holds for the key, where it is a signal, and for the
// signal.
func TestWhoHasChangedATerminalIsNotStopped(t *testing.T) {
	t.Parallel()
	need.Program(t, "vim")
	d := serves(t, nil)
	x := newTmux(t, d.Env)
	d.beside("run", "--pty", "-b", "--name", "ed", "vim", "-u", "NONE", "-i", "NONE", "-N", "text").start().ends(0)
	d.beside("wait", "--match", "text", "ed").start().ends(0)
	watches := x.sits("watches", "set -m; troupe attach --watch ed")
	watches.has("~\n~")
	watches.keys("C-z")
	sits := x.sits("sits", "set -m; (echo $BASHPID > pid; exec troupe attach ed)")
	sits.has("~\n~")
	sits.signals("pid", syscall.SIGTSTP)
	sits.keys("i", "here")
	for _, s := range []*sitting{watches, sits} {
		s.has("here\n~")
	}
	watches.keys("C-c")
	sits.keys("Escape", ":q!", "Enter")
	for s, end := range map[*sitting]string{watches: "ended 130", sits: "ended 0"} {
		s.awaitEnd()
		require.Contains(t, s.shows(), end)
	}
}
