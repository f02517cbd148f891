package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/internal/cli"
)

// modes are those of a terminal.
func (c *console) modes(t *testing.T) (modes unix.Termios) {
	t.Helper()
	_ = cli.Control(c.user, func(fd int) {
		now, err := unix.IoctlGetTermios(fd, unix.TCGETS)
		if err != nil {
			t.Fatal(err)
		}
		modes = *now
	})
	return modes
}

// A command on its own terminal has the size of the user's terminal, follows its changes,
// and gets each key, Ctrl-C too. The user's terminal is restored at the end. In the
// daemon it is the same.
func TestPty(t *testing.T) {
	t.Parallel()
	const text = `stty size; trap 'stty size; echo sized' WINCH; trap 'echo caught' INT; echo ready; x=; until read -r -t 0.05 y; do x=$x$y; done; echo got $x$y; ` +
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

// A command of a terminal runs again on one of its own, of the size of the user's, and takes keys.
func TestRerunOnATerminal(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	sits := func(size string, rows, columns uint16, args ...string) {
		t.Helper()
		c, p := openTerminal(t), d.beside(args...)
		c.resize(t, rows, columns)
		p.at(c)
		c.shown.has(t, size+"\r\n")
		c.keys(t, "word\r")
		c.shown.has(t, "word\r\ngot word\r\n")
		p.ends(4)
	}
	sits("30 100", 30, 100, "run", "--pty", "--name", "asks", "stty size; read x; echo got $x; exit 4")
	sits("20 60", 20, 60, "rerun", "asks")
	p := d.beside("rerun", "j2")
	p.Stdin = strings.NewReader("piped\n")
	p.start()
	if got := p.rest(); !strings.HasSuffix(got, "got piped\r\n") {
		t.Errorf("it showed %q", got)
	}
	p.ends(4)
}

// Piped input reaches the command, followed by the end-of-file key.
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

// A troupe that is killed leaves the terminal as it was, too, also where a program has
// painted it: the process beside it does that.
func TestFaultPtyOfAKilledClient(t *testing.T) {
	t.Parallel()
	paints := func(t *testing.T, p *process) {
		c := openTerminal(t)
		before := c.modes(t)
		p.at(c)
		c.shown.has(t, "painted")
		if c.modes(t) == before {
			t.Error("the terminal is not raw")
		}
		if err := p.Process.Kill(); err != nil {
			t.Fatal(err)
		}
		c.shown.has(t, "painted\x1b[?1049l\x1b[?25h", "painted\x18\x1b[?1049l\x1b[?25h") // see cutOff
		if after := c.modes(t); after != before {
			t.Errorf("the terminal is left as %+v, it was %+v", after, before)
		}
	}
	const text = `printf '\033[?1049h\033[?25lpainted'; exec sleep 600`
	t.Run("here", func(t *testing.T) {
		t.Parallel()
		paints(t, program(t, "run", "--pty", text))
	})
	t.Run("in the daemon", func(t *testing.T) {
		t.Parallel()
		paints(t, serves(t, nil).beside("run", "--pty", text))
	})
}

// paintsAgain shows its terminal's size when that has changed, or was said to have, and
// each key that it reads, until that is q. Its terminal has its modes before it
// begins (paintsHere): bash goes back to those that it found when a read is interrupted.
// A read that times out may have a key.
const paintsAgain = `trap 'last=' WINCH; trap : INT; last=$(stty size); printf begun; while :; do ` +
	`now=$(stty size); [ "$now" = "$last" ] || printf "\033[?1049h[%s]" "$now"; last=$now; ` +
	`IFS= read -r -n 1 -t 0.05 key; case $key in "") ;; q) exit 6;; *) printf "<%s>" "$key";; esac; done`

const paintsHere = `stty -icanon -echo -ixon; exec bash paints`

// The detach keys move a command on a terminal to the background. A client that attaches
// gets its terminal, whatever its own size, and sends each key. Both terminals are
// restored at the end.
func TestPtyIsLeftAndComeBackTo(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.writes("paints", paintsAgain)
	first := openTerminal(t)
	before := first.modes(t)
	p := d.beside("run", "--pty", "--name", "paints", paintsHere).at(first)
	first.shown.has(t, "begun")
	first.keys(t, "a\x10b") // the first of the detach keys alone is passed on
	first.shown.has(t, "<a><\x10><b>")
	first.keys(t, "\x10\x11")
	p.ends(0)
	first.shown.has(t, "<b>\r\ntroupe: ") // it has changed nothing
	first.shown.has(t, "continues in the background")
	if after := first.modes(t); after != before {
		t.Errorf("the terminal is left as %+v, it was %+v", after, before)
	}
	if state := d.record("paints")["state"]; state != "running" {
		t.Errorf("the command is %v", state)
	}

	second := openTerminal(t)
	second.resize(t, 40, 132)
	q := d.beside("attach", "paints").at(second)
	second.shown.has(t, "[40 132]") // it repaints for the new client
	second.resize(t, 41, 100)
	second.shown.has(t, "[41 100]")
	if size := fmt.Sprint(d.record("paints")["terminal"]); size != "map[cols:100 rows:41]" {
		t.Errorf("its record has a terminal of %s", size)
	}
	second.keys(t, "\x03c")
	second.shown.has(t, "<c>") // Ctrl-C is a key of the terminal, which the command survives
	second.keys(t, "\x10\x11")
	q.ends(0)
	second.shown.has(t, "\x1b[?1049l") // where the other screen is left, on a line of its own
	second.shown.has(t, "troupe: left job paints, which continues; troupe attach paints comes back")
	if after := second.modes(t); after != before {
		t.Errorf("the terminal is left as %+v, it was %+v", after, before)
	}

	third := openTerminal(t)
	r := d.beside("attach", "--detach-keys", "x", "paints").at(third)
	third.shown.has(t, "[24 80]")
	third.keys(t, "\x10\x11")
	third.shown.has(t, "<\x10><\x11>")
	third.keys(t, "x")
	r.ends(0)

	third = openTerminal(t) // of the size that it has
	r = d.beside("attach", "paints").at(third)
	third.shown.has(t, "[24 80]")
	third.keys(t, "q")
	r.ends(6)
	if after := third.modes(t); after != before {
		t.Errorf("the terminal is left as %+v, it was %+v", after, before)
	}
}

// A client may type once it shows output: by then its terminal sends all keys and echoes
// none itself.
func TestAttachHasTheKeysBeforeItShows(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "-b", "--pty", "--name", "talks", "while printf x; do sleep 0.001; done").start().ends(0)
	for range 5 {
		c := openTerminal(t)
		p := d.beside("attach", "talks").at(c)
		c.shown.has(t, "x")
		if on := c.modes(t).Lflag & (unix.ECHO | unix.ICANON); on != 0 {
			t.Fatalf("something is shown, and the terminal has the modes %#x", on)
		}
		c.keys(t, "\x10\x11")
		p.ends(0)
	}

	d.beside("run", "-b", "--pty", "--name", "painted", `printf '\033[?1049h\033[?1000hpainted'; exec sleep 600`).start().ends(0)
	d.beside("wait", "--match", "painted", "painted").start().ends(0)
	for range 5 { // the modes of the job's terminal are set on the client's, too
		c := openTerminal(t)
		p := d.beside("attach", "painted").at(c)
		c.shown.has(t, "\x1b[?1049h")
		if on := c.modes(t).Lflag & (unix.ECHO | unix.ICANON); on != 0 {
			t.Fatalf("the other screen is shown, and the terminal has the modes %#x", on)
		}
		c.keys(t, "\x10\x11")
		p.ends(0)
	}
}

// What is typed at our terminal is not shown there by that, also where what the command
// prints goes elsewhere: it may be a password.
func TestPtyTypesUnseen(t *testing.T) {
	t.Parallel()
	c, p := openTerminal(t), program(t, "run", "--pty", `stty -echo; printf ready >&2; printf 'pw:' > "$TMPDIR/asks"; read -r x; echo "got $x"`)
	before := c.modes(t)
	asks := post(t, p.file("asks"))
	out, err := os.Create(p.file("out"))
	if err != nil {
		t.Fatal(err)
	}
	defer out.Close()
	p.Stdout = out
	p.at(c)
	asks()
	if now := c.modes(t); now.Lflag&(unix.ECHO|unix.ICANON|unix.ISIG) != 0 || now.Oflag != before.Oflag {
		t.Errorf("the terminal is %+v", now)
	}
	c.keys(t, "secret\r")
	p.ends(0)
	if got := c.shown.String(); got != "" {
		t.Errorf("it showed %q", got)
	}
	if b, err := os.ReadFile(p.file("out")); err != nil || string(b) != "readygot secret\r\n" {
		t.Errorf("it printed %q (%v)", b, err)
	}
	if after := c.modes(t); after != before {
		t.Errorf("the terminal is left as %+v, it was %+v", after, before)
	}
}

// With -n nothing is typed, and Ctrl-C is the key of troupe.
func TestPtyWithoutInputIsInterrupted(t *testing.T) {
	t.Parallel()
	c, p := openTerminal(t), program(t, "run", "--pty", "-n", `printf '\033[?1049hpainted'; exec sleep 600`)
	p.at(c)
	c.shown.has(t, "painted")
	c.keys(t, "\x03")
	p.ends(130)
	if got := c.shown.String(); !strings.Contains(got, "\x1b[?1049ltroupe: the command was stopped") {
		t.Errorf("it showed %q", got)
	}
}

// turnsOn turns on much of a terminal, and some of it off again; takesBack is what takes
// back what is left.
const (
	turnsOn   = `printf '\033[?1000;1006h\033[?2004h\033[?1004h\033[?25l\033[?1h\033=\033[>1u\033[?2004l\033[31mon'; `
	takesBack = "\x1b[<1u\x1b[?1;1000;1004;1006l\x1b[?25h\x1b>\x1b[0m"
	// cutOff undoes the modes for a client that was killed before all of it was shown: every
	// mode that was on at any moment.
	cutOff = "\x18\x1b[<1u\x1b[?1;1000;1004;1006;2004l\x1b[?25h\x1b>\x1b[0m"
)

// Whatever ends it, what the command has turned on is taken back, and what it has not is
// left alone.
func TestPtyIsGivenBack(t *testing.T) {
	t.Parallel()
	for name, e := range map[string]struct {
		text string
		ends func(c *console, p *process)
		code int
		said string // after the undone modes
	}{
		"its end":      {"exit 3", func(*console, *process) {}, 3, ""},
		"its signal":   {"kill -TERM $$", func(*console, *process) {}, 143, "\r\ntroupe: "},
		"our signal":   {"exec sleep 600", func(_ *console, p *process) { p.send(unix.SIGTERM) }, 143, "\r\ntroupe: "},
		"being killed": {"exec sleep 600", func(_ *console, p *process) { p.send(unix.SIGKILL) }, 137, ""},
		"being left":   {"exec sleep 600", func(c *console, _ *process) { c.keys(t, "\x10\x11") }, 0, "\r\ntroupe: "},
	} {
		for where, begins := range map[string]func(t *testing.T, text string) *process{
			"here":          func(t *testing.T, text string) *process { return program(t, "run", "--pty", text) },
			"in the daemon": func(t *testing.T, text string) *process { return serves(t, nil).beside("run", "--pty", text) },
		} {
			if name == "being left" && where == "here" {
				continue // there nothing is left
			}
			t.Run(name+" "+where, func(t *testing.T) {
				t.Parallel()
				c, p := openTerminal(t), begins(t, turnsOn+e.text)
				p.at(c)
				c.shown.has(t, "on")
				e.ends(c, p)
				if name == "being killed" {
					c.shown.has(t, "on"+takesBack, "on"+cutOff)
				} else {
					c.shown.has(t, "on"+takesBack+e.said)
				}
				p.ends(e.code)
			})
		}
	}
	t.Run("nothing", func(t *testing.T) {
		t.Parallel()
		c, p := openTerminal(t), program(t, "run", "--pty", `printf '\033[?1000h\033[31mred\033[0m\033[?1000l\n'`)
		p.at(c).ends(0)
		if got := c.shown.String(); got != "\x1b[?1000h\x1b[31mred\x1b[0m\x1b[?1000l\r\n" {
			t.Errorf("it showed %q", got)
		}
	})
}

// hangsUp takes the terminal away, of which its process ends.
func (c *console) hangsUp(p *process) {
	p.t.Helper()
	if err := c.user.Close(); err != nil {
		p.t.Fatal(err)
	}
	p.ends(129)
}

// A client that loses its terminal ends as by a hang-up, however soon the end of its
// input is seen.
func TestAHangUpIsOne(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "--pty", "-b", "--name", "sits", "cat").start().ends(0)
	for _, words := range [][]string{{"attach", "sits"}, {"run", "--pty", "cat"}, {"run", "--no-daemon", "--pty", "cat"}} {
		t.Run(strings.Join(words, " "), func(t *testing.T) {
			for range 5 {
				c, p := openTerminal(t), d.beside(words...)
				p.t = t
				p.at(c)
				c.keys(t, "here\r")
				c.shown.has(t, "here\r\nhere\r\n")
				c.hangsUp(p)
			}
		})
	}
}

// It is one, too, where the command does not end for long.
func TestAHangUpOfAStubbornCommand(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	for _, where := range []string{"--pty", "--no-daemon"} {
		t.Run(where, func(t *testing.T) {
			t.Parallel()
			c, p := openTerminal(t), d.beside("run", where, "--pty", "--grace", "3s", `trap '' HUP TERM; printf on; while :; do sleep 0.1; done`)
			p.t = t
			p.at(c)
			c.shown.has(t, "on")
			c.hangsUp(p)
		})
	}
}

// Attached to a job on pipes our terminal makes no lines, and it does so again when we
// leave, and when we are killed.
func TestAttachGivesTheTerminalOfLinesBack(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "-b", "-i", "--name", "reads", `while read -r x; do echo "got $x."; done`).start().ends(0)
	for how, leave := range map[string]func(*console, *process){
		"left":   func(c *console, p *process) { c.keys(t, "\x10\x11"); p.ends(0) },
		"killed": func(_ *console, p *process) { p.send(unix.SIGKILL); p.ends(137) },
	} {
		c := openTerminal(t)
		before := c.modes(t)
		p := d.beside("attach", "reads").at(c)
		c.keys(t, how+"\r")
		c.shown.has(t, "got "+how+".")
		if c.modes(t) == before {
			t.Error("the terminal makes lines")
		}
		leave(c, p)
		eventually(t, "the terminal of one that was "+how+" is not as it was", func() bool { return c.modes(t) == before })
	}
}

// A second client watches, and gets the input lease when the first has left. The job's
// terminal has its size by then.
func TestAttachTypesWhenTheOtherHasLeft(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.beside("run", "--pty", "-b", "--name", "reads", `stty -echo; while read -r x; do echo "got $x.$(stty size)"; done`).start().ends(0)
	one, two := openTerminal(t), openTerminal(t)
	p := d.beside("attach", "reads").at(one)
	one.keys(t, "first\r")
	one.shown.has(t, "got first.")
	two.resize(t, 10, 40)
	q := d.beside("attach", "reads").at(two)
	two.shown.has(t, "another client has the input lease; read-only")
	two.resize(t, 11, 41)
	two.keys(t, "x")
	two.shown.has(t, "another client has the input lease of the job")
	two.keys(t, "y")
	one.keys(t, "behind\r")
	two.shown.has(t, "got behind.")
	eventually(t, "the terminal does not have the size of the first", func() bool { // the other has it repainted
		one.keys(t, "size\r")
		return strings.Contains(one.shown.String(), "got size.24 80")
	})
	one.keys(t, "\x10\x11")
	p.ends(0)
	two.shown.has(t, "you have the input lease now and can type\r\n") // our terminal makes none of a LF now
	sized := func(size string) func() bool {
		return func() bool { return fmt.Sprint(d.record("reads")["terminal"]) == size }
	}
	eventually(t, "the terminal is not as large as his", sized("map[cols:41 rows:11]"))
	two.keys(t, "second\r")
	two.shown.has(t, "got second.11 41")
	if n := strings.Count(two.shown.String(), "another client has the input lease of the job"); n != 1 {
		t.Errorf("it was told %d times that he watches", n)
	}
	two.keys(t, "\x10\x11")
	q.ends(0)
}

// A client that watches beside the one with the input lease sees the screen at once, and
// does not change its size.
func TestAttachBesideOneWhoTypes(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.writes("paints", paintsAgain)
	d.beside("run", "--pty", "-b", "--name", "paints", paintsHere).start().ends(0)
	one, two := openTerminal(t), openTerminal(t)
	p := d.beside("attach", "paints").at(one)
	one.shown.has(t, "[24 80]")
	two.resize(t, 10, 40)
	q := d.beside("attach", "paints").at(two)
	two.shown.has(t, "[24 80]")
	two.keys(t, "\x10\x11")
	q.ends(0)
	one.keys(t, "\x10\x11")
	p.ends(0)
	for _, c := range []*console{one, two} {
		if shown := c.shown.String(); strings.Contains(shown, " 40]") {
			t.Errorf("it showed %q", shown)
		}
	}
}

// A command that runs at a terminal gets the size of that terminal again when another
// attached client leaves, in whatever way, and the size at that time.
func TestPtyTakesItsSizeBack(t *testing.T) {
	t.Parallel()
	d := serves(t, nil)
	d.writes("paints", paintsAgain)
	first := openTerminal(t)
	p := d.beside("run", "--pty", "--name", "paints", paintsHere).at(first)
	first.shown.has(t, "begun")
	for i, leaves := range []func(c *console, q *process){
		func(c *console, q *process) { c.keys(t, "\x10\x11"); q.ends(0) },
		func(_ *console, q *process) { q.send(unix.SIGKILL); q.ends(137) },
	} {
		second := openTerminal(t)
		second.resize(t, 10, 40+uint16(i))
		q := d.beside("attach", "paints").at(second)
		second.shown.has(t, fmt.Sprintf("[10 %d]", 40+i))
		first.resize(t, 30, 100+uint16(i))
		first.shown.has(t, fmt.Sprintf("[30 %d]", 100+i))
		second.resize(t, 11, 50+uint16(i))
		first.shown.has(t, fmt.Sprintf("[11 %d]", 50+i))
		leaves(second, q)
		first.shown.has(t, fmt.Sprintf("[11 %d]\x1b[?1049h[30 %d]", 50+i, 100+i))
	}
	first.keys(t, "\x10\x11") // a client that detaches needs no size
	p.ends(0)
	third := openTerminal(t)
	r := d.beside("attach", "paints").at(third)
	third.shown.has(t, "[24 80]")
	third.keys(t, "\x10\x11")
	r.ends(0)
	if size := fmt.Sprint(d.record("paints")["terminal"]); size != "map[cols:80 rows:24]" {
		t.Errorf("its record has a terminal of %s", size)
	}
}
