package main

import (
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"troupe/internal/cli"
)

// stalls waits until a terminal that is not read takes no more output.
func (c *console) stalls(t *testing.T) {
	t.Helper()
	eventually(t, "the terminal takes more and more", func() bool {
		n := 0
		_ = cli.Control(c.side, func(fd int) { n, _ = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLOUT}}, 0) })
		return n == 0
	})
}

// A client can detach or be stopped at a terminal that takes no more output. The modes
// are restored when the terminal is read again.
func TestAStalledTerminalIsLeft(t *testing.T) {
	t.Parallel()
	const floods = turnsOn + `while :; do echo yyyyyyyyyyyyyyyyyyyyyyyyyyyyyy; done`
	d := serves(t, nil)
	d.beside("run", "--pty", "-b", "--name", "floods", "--max-output", "1MB", floods).start().ends(0)
	term := func(_ *console, p *process) { p.send(unix.SIGTERM) }
	keys := func(c *console, p *process) { c.keys(p.t, "\x10\x11") }
	quit := func(_ *console, p *process) { p.send(unix.SIGQUIT) }
	twice := func(_ *console, p *process) {
		p.send(unix.SIGINT)
		_ = p.Process.Signal(syscall.SIGTERM) // it may have ended
	}
	for name, e := range map[string]struct {
		words []string
		ends  func(c *console, p *process)
		codes []int
	}{
		"run here":          {[]string{"run", "--no-daemon", "--pty", floods}, term, []int{143}},
		"run in the daemon": {[]string{"run", "--pty", floods}, term, []int{143}},
		"run, left":         {[]string{"run", "--pty", floods}, keys, []int{0}},
		"attach":            {[]string{"attach", "floods"}, term, []int{143}},
		"attach, quit":      {[]string{"attach", "floods"}, quit, []int{131}},
		"attach, left":      {[]string{"attach", "floods"}, keys, []int{0}},
		"attach, twice":     {[]string{"attach", "floods"}, twice, []int{130, 143}}, // two at once come in any order
		"attach --watch":    {[]string{"attach", "--watch", "floods"}, term, []int{143}},
	} {
		t.Run(name, func(t *testing.T) {
			c, p := openTerminal(t), d.beside(e.words...)
			p.t = t
			before := c.modes(t)
			p.unread(c)
			c.stalls(t)
			e.ends(c, p)
			p.ends(e.codes...)
			if after := c.modes(t); after != before {
				t.Errorf("the terminal is left as %+v, it was %+v", after, before)
			}
			seen := c.reads()
			_ = c.side.Close()
			<-seen
			if e.words[0] == "run" { // attach begins after the modes were set
				c.shown.has(t, takesBack, cutOff)
			}
		})
	}
}
