package main

import (
	"strings"
	"testing"
)

// A command in a session on a terminal gets each key and follows its size. A client that
// detaches can attach again. The next command finds the terminal as the first one did.
func TestASessionOnATerminal(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	run := func(text string, args ...string) (*console, *process) {
		t.Helper()
		c := openTerminal(t)
		c.resize(t, 30, 100)
		return c, d.beside(append(append([]string{"run", "-s", "dev", "-t"}, args...), text)...).at(c)
	}
	c, p := run(`X=1; stty size; trap 'stty size' WINCH; echo ready; x=; until read -r -t 0.05 y; do x=$x$y; done; echo got $x$y; stty raw -echo; printf keys; head -c 1; (exit 5)`)
	c.shown.has(t, "30 100\r\nready\r\n")
	c.resize(t, 40, 132)
	c.shown.has(t, "40 132\r\n")
	c.keys(t, "hello\r")
	c.shown.has(t, "hello\r\ngot hello\r\nkeys")
	c.keys(t, "k")
	p.ends(5)

	// It begins in the child: a shell that has a trap loses a Ctrl-C between fork and exec.
	c, p = run(`trap - WINCH; stty size; echo $X; sh -c 'echo be""gun; exec sleep 600'; echo further`)
	c.shown.has(t, "30 100\r\n1\r\nbegun\r\n")
	c.keys(t, "\x03")
	p.ends(130)
	if got := c.shown.String(); strings.Contains(got, "further") {
		t.Errorf("it showed %q", got)
	}

	c, p = run(`echo be''gun; read -r x; echo got $x`, "--name", "asks")
	c.shown.has(t, "begun\r\n")
	c.keys(t, "\x10\x11")
	p.ends(0)
	c = openTerminal(t)
	q := d.beside("attach", "asks").at(c)
	c.keys(t, "me\r")
	q.ends(0)
	c.shown.has(t, "got me")

	c, p = run("echo last $X")
	p.ends(0)
	if got := c.shown.String(); got != "last 1\r\n" {
		t.Errorf("it showed %q", got)
	}
}
