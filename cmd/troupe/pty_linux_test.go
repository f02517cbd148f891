package main

import (
	"bytes"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// modes are those of a terminal.
func (c *terminal) modes(t *testing.T) (modes unix.Termios) {
	t.Helper()
	_ = control(c.user, func(fd int) {
		now, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		modes = *now
	})
	return modes
}

// A command on a terminal of its own has the size of ours, follows it, and is given
// each key, that of Ctrl-C too; ours is as it was in the end. In the daemon it is the same.
func TestPty(t *testing.T) {
	t.Parallel()
	const text = `stty size; trap 'stty size; echo sized' WINCH; trap 'echo caught' INT; echo ready; until read -r -t 0.05 x; do :; done; echo got $x; ` +
		`stty -icanon -echo; echo keys; key=$(head -c 1); echo key $key; exit 5`
	sits := func(t *testing.T, p *process) {
		c := openTerminal(t)
		before := c.modes(t)
		p.at(c)
		c.shown.has(t, "24 80\r\nready\r\n")
		c.keys(t, "\x03")
		c.shown.has(t, "^Ccaught\r\n")
		c.resize(t, 30, 100)
		c.shown.has(t, "30 100\r\nsized\r\n")
		c.keys(t, "hello\r")
		c.shown.has(t, "hello\r\ngot hello\r\nkeys\r\n")
		c.keys(t, "k")
		p.ends(5)
		if got := c.shown.String(); !strings.HasSuffix(got, "key k\r\n") {
			t.Errorf("it showed %q", got)
		}
		if after := c.modes(t); after != before {
			t.Errorf("the terminal is left as %+v, it was %+v", after, before)
		}
	}
	t.Run("here", func(t *testing.T) {
		t.Parallel()
		sits(t, program(t, "run", "--pty", text))
	})
	t.Run("in the daemon", func(t *testing.T) {
		t.Parallel()
		sits(t, serves(t, nil).beside("run", "--pty", text))
	})
}

// What is read where nobody types reaches the command, and then the key for its end.
func TestPtyWithoutATerminal(t *testing.T) {
	t.Parallel()
	for _, where := range []string{"here", "in the daemon"} {
		p := program(t, "run", "-t", "stty -echo; cat; echo end; stty size; exit 3")
		if where != "here" {
			p = serves(t, nil).beside("run", "-t", "stty -echo; cat; echo end; stty size; exit 3")
		}
		p.Stdin = bytes.NewReader([]byte("one\ntwo\n"))
		p.start()
		if got := p.rest(); !strings.HasSuffix(got, "one\r\ntwo\r\nend\r\n24 80\r\n") {
			t.Errorf("%s: it showed %q", where, got)
		}
		p.ends(3)
	}
	p := program(t, "run", "--pty", "--streams", "separate", "true").start()
	p.ends(2)
}

// A program that paints its terminal is shown as it is.
func TestPtyShowsWhatIsPainted(t *testing.T) {
	t.Parallel()
	c, p := openTerminal(t), program(t, "run", "--pty", `printf '\033[2J\033[H\033]0;title\007raw\n'; stty raw; printf 'a\nb'`)
	p.at(c)
	p.ends(0)
	if got := c.shown.String(); got != "\x1b[2J\x1b[H\x1b]0;title\araw\r\na\nb" {
		t.Errorf("it showed %q", got)
	}
}
