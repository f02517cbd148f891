package main

import (
	"fmt"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/internal/cli/run"
)

// terminal is a pseudo-terminal as a user sits at: what is typed goes in at one
// side, and what is shown comes out there.
type console struct {
	user  *os.File
	side  *os.File // the program's
	shown *lines
}

// openTerminal opens one of the usual size.
func openTerminal(t *testing.T) *console {
	t.Helper()
	user, err := os.OpenFile("/dev/ptmx", os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	number := 0
	err = cli.Control(user, func(fd int) {
		if err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0); err == nil {
			number, err = unix.IoctlGetInt(fd, unix.TIOCGPTN)
		}
	})
	if err != nil {
		t.Fatal(err)
	}
	side, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|syscall.O_NOCTTY, 0)
	if err != nil {
		t.Fatal(err)
	}
	c := &console{user: user, side: side, shown: &lines{news: make(chan struct{}, 1)}}
	c.resize(t, 24, 80)
	t.Cleanup(func() {
		_ = side.Close()
		_ = user.Close()
	})
	return c
}

func (c *console) resize(t *testing.T, rows, cols uint16) {
	t.Helper()
	var err error
	_ = cli.Control(c.user, func(fd int) { err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols}) })
	if err != nil {
		t.Fatal(err)
	}
}

// keys types.
func (c *console) keys(t *testing.T, text string) {
	t.Helper()
	if _, err := c.user.WriteString(text); err != nil {
		t.Fatal(err)
	}
}

// at starts the program at a terminal of its own; the streams that were set go
// elsewhere.
func (p *process) at(c *console) *process {
	p.t.Helper()
	p.seen = c.reads()
	p.unread(c)
	_ = c.side.Close() // the program's is the last one: its end is the end of what is shown
	return p
}

// unread is like at, for a terminal that is not read.
func (p *process) unread(c *console) *process {
	p.t.Helper()
	if p.Stdin == nil {
		p.Stdin = c.side
	}
	if p.Stdout == nil {
		p.Stdout = c.side
	}
	if p.Stderr == p.err {
		p.Stderr = c.side
	}
	p.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 0}
	return p.start()
}

// reads reads what is shown, to its end.
func (c *console) reads() (seen <-chan struct{}) {
	shown := make(chan struct{})
	go func() {
		defer close(shown)
		buf := make([]byte, 4096)
		for {
			n, err := c.user.Read(buf)
			_, _ = c.shown.Write(buf[:n])
			if err != nil {
				return // EIO: no process has it open any more
			}
		}
	}()
	return shown
}

// What a command prints is there before it ends.
func TestATerminalShowsAtOnce(t *testing.T) {
	t.Parallel()
	c, p := openTerminal(t), program(t, "run", `echo first; printf half; read x < go; echo -line`)
	open := gate(t, p.file("go"))
	p.at(c)
	c.shown.has(t, "first\r\nhalf")
	open()
	p.ends(0)
	if got := c.shown.String(); got != "first\r\nhalf-line\r\n" {
		t.Errorf("it showed %q", got)
	}
}

// A command that is silent is shown to be alive, on a line that goes when there
// is something else to show. It is never wider than the terminal, and has no
// colours.
func TestATerminalShowsThatASilentCommandLives(t *testing.T) {
	t.Parallel()
	const line = "(" + `\r\x1b\[K` + `troupe: running [0-9]+s, 2 B so fa?` + ")+" + `\r\x1b\[K`             // cut to 29 columns
	const early = "(" + `(\r\x1b\[K` + `troupe: running [0-9]+s, 0 B so fa?` + ")+" + `(\r\x1b\[K)?` + ")?" // before it has said anything, where that takes long
	for name, at := range map[string]struct {
		flags []string
		want  string
	}{
		"live":   {[]string{"run"}, `^` + early + `a\r\n` + line + `b\r\n$`},
		"object": {[]string{"run", "--json"}, `^` + early + line + `\{"v":1,.*"text":"a\\nb\\n".*\}\r\n$`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := openTerminal(t)
			p := program(t, append(at.flags, `echo a; read x < go; echo b`)...)
			open := gate(t, p.file("go"))
			p.Env = append(p.Env, "NO_COLOR=1")
			c.resize(t, 24, 30)
			p.at(c)
			c.shown.has(t, "2 B so f")
			open()
			p.ends(0)
			if got := c.shown.String(); !regexp.MustCompile(at.want).MatchString(got) {
				t.Errorf("it showed %q, want %s", got, at.want)
			}
		})
	}
}

// The progress line is not printed on a terminal that cannot clear it, after half a line
// of the command, where stderr is no terminal, or for a short command.
func TestNoProgressWhereItWouldBeInTheWay(t *testing.T) {
	t.Parallel()
	silence := (run.SilentFor + 2*run.DrawEvery).Seconds()
	type seat struct {
		c     *console
		p     *process
		aside *lines
		want  string
	}
	seats := map[string]seat{}
	for name, at := range map[string]struct{ env, before string }{
		"a dumb terminal": {"TERM=dumb", "a\n"}, "no terminal type": {"TERM=", "a\n"},
		"half a line": {"TERM=xterm", "half "}, "stderr is no terminal": {"TERM=xterm", "a\n"},
	} {
		s := seat{
			openTerminal(t), program(t, "run", "--streams", "merged", fmt.Sprintf("printf %q; sleep %v; echo b", at.before, silence)),
			&lines{news: make(chan struct{}, 1)}, strings.ReplaceAll(at.before+"b\n", "\n", "\r\n"),
		}
		s.p.Env = append(s.p.Env, at.env)
		if name == "stderr is no terminal" {
			s.p.Stderr = s.aside
		}
		s.p.at(s.c)
		seats[name] = s
	}
	for name, s := range seats { // they were silent together
		s.p.ends(0)
		if got := s.c.shown.String(); got != s.want || s.aside.String() != "" {
			t.Errorf("%s: it showed %q and %q, want %q", name, got, s.aside, s.want)
		}
	}
}

// A stderr pipe that is not read does not keep the terminal from showing the output of
// the command.
func TestATerminalShowsBesideAPipeThatNobodyReads(t *testing.T) {
	t.Parallel()
	c, p := openTerminal(t), program(t, "run", "--no-daemon", "--promote-after", "1h", "echo shown; exec sleep 600") // of which there is something to say at once
	p.Stderr = full(t)
	p.at(c)
	c.shown.has(t, "shown\r\n")
	p.send(syscall.SIGINT)
	p.ends(130)
}

// Ctrl-C is one key and one line.
func TestControlC(t *testing.T) {
	t.Parallel()
	c, p := openTerminal(t), program(t, "run", `echo $$; exec sleep 600`)
	p.at(c)
	c.shown.has(t, "\n")
	pid := strings.TrimSpace(c.shown.String())
	c.keys(t, "\x03")
	p.ends(130)
	gone(t, pid)
	if got, want := c.shown.String(), pid+"\r\n^C\r\ntroupe: the command was stopped: interrupted by SIGINT\r\n"; got != want {
		t.Errorf("it showed %q, want %q", got, want)
	}
}

// The terminal that goes away ends the command.
func TestTheTerminalGoesAway(t *testing.T) {
	t.Parallel()
	c, p := openTerminal(t), program(t, "run", `echo $$; exec sleep 600`)
	p.at(c)
	c.shown.has(t, "\n")
	pid := strings.TrimSpace(c.shown.String())
	_ = c.user.Close()
	p.ends(129)
	gone(t, pid)
}

// The command does not read typed input without -i: the input is for the shell.
func TestWhoReadsTheTerminal(t *testing.T) {
	t.Parallel()
	t.Run("without -i", func(t *testing.T) {
		t.Parallel()
		c, p := openTerminal(t), program(t).bash(`troupe run 'cat; echo end'; read x; echo shell: $x`)
		c.keys(t, "typed\n")
		p.at(c)
		p.ends(0)
		if got := c.shown.String(); got != "typed\r\nend\r\nshell: typed\r\n" {
			t.Errorf("it showed %q", got)
		}
	})
	t.Run("with -i", func(t *testing.T) {
		t.Parallel()
		c, p := openTerminal(t), program(t, "run", "-i", `echo up; read x; echo got $x; cat; echo end`)
		p.at(c)
		c.shown.has(t, "up\r\n")
		c.keys(t, "typed\n\x04")
		p.ends(0)
		if got := c.shown.String(); !strings.HasPrefix(got, "up\r\n") || !strings.HasSuffix(got, "got typed\r\nend\r\n") {
			t.Errorf("it showed %q", got)
		}
	})
}
