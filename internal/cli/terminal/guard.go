package terminal

import (
	"bytes"
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"syscall"

	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/messages"
)

// Whoever makes a terminal raw must make it as it was, also if it is killed (kill -9).
// Then it cannot, and neither docker nor podman do: who sits there types `stty sane`
// blindly. We have a process beside us that waits for our end, and does nothing else.

// GuardVerb is the role of that process.
const GuardVerb = "terminal-guard"

// The descriptors of that process. guardFile tells it of our end: behind the modes of the
// terminal comes a byte when all is well, or only the end. guardText is a file of what the
// terminal is then told, of guardSize bytes, of which those that are zero are none.
const (
	guardFile = 3
	guardText = 4
	guardSize = 1 << 10
)

// terminalGuard is that process, as we see it.
type terminalGuard struct{ text *os.File }

// keep has a text shown should we be killed. It is there at once, whole, and whoever
// is killed between two has the first.
func (g *terminalGuard) keep(text string) {
	p := make([]byte, guardSize)
	copy(p, text)
	_, _ = g.text.WriteAt(p, 0)
}

// guardTerminal has our terminal restored to some modes, should we be killed, until the
// function that it returns is called: that, and what was changed of it on the screen. Where
// there is no room for a process more, it is not: that hinders no command.
func guardTerminal(m *cli.Main, at *os.File, was *unix.Termios, s *Printer) (over func()) {
	text, err := unnamedFile()
	if err != nil {
		return func() {}
	}
	s.guardedBy(&terminalGuard{text})
	process, w, err := startGuard(at, was, text)
	if err != nil {
		s.guardedBy(nil)
		_ = text.Close()
		return func() {}
	}
	return func() {
		s.guardedBy(nil)
		if s.stuck.Load() { // it has our end behind it, and waits for the terminal
			s.restartGuard = func() { _, w, _ = startGuard(at, was, text) }
			return
		}
		_, _ = w.Write([]byte{1})
		_ = w.Close()
		_ = text.Close()
		_ = process.Wait()
	}
}

// changeTerminal has our terminal have other modes until the function that it returns is called,
// or until we are killed. done: it is one, and has them. how says in the end with which
// request it gets back those that it had.
func changeTerminal(m *cli.Main, at *os.File, s *Printer, change func(modes *unix.Termios), how func() uint) (restore func(), done bool) {
	restore = func() {}
	_ = cli.Control(at, func(fd int) {
		was, err := unix.IoctlGetTermios(fd, getTermios)
		if err != nil {
			return
		}
		now := *was
		change(&now)
		over, stays := guardTerminal(m, at, was, s), cli.Unstopped()
		if unix.IoctlSetTermios(fd, setTermios, &now) != nil {
			stays()
			over()
			return
		}
		done = true
		restore = func() {
			_ = cli.Control(at, func(fd int) { _ = unix.IoctlSetTermios(fd, how(), was) })
			stays()
			over()
		}
	})
	return restore, done
}

// plainly gives a terminal back with what was typed at it and not read.
func plainly() uint { return setTermios }

// startGuard starts that process; w is what it hears us by.
func startGuard(at *os.File, was *unix.Termios, text *os.File) (process *exec.Cmd, w *os.File, err error) {
	self, err := os.Executable()
	if err != nil {
		return nil, nil, err
	}
	r, w, err := os.Pipe()
	if err != nil {
		return nil, nil, err
	}
	defer r.Close()
	process = exec.Command(self, GuardVerb)
	process.Stdin, process.Env, process.ExtraFiles = at, []string{}, []*os.File{r, text}
	process.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what is typed and shown there concerns it not
	if err = process.Start(); err == nil {
		err = binary.Write(w, binary.NativeEndian, was)
	}
	if err != nil {
		_ = w.Close()
	}
	return process, w, err
}

// GuardAgain starts the guard of a terminal that is stuck once more: the end of a node of
// this process has ended all its children.
func (s *Printer) GuardAgain() {
	if s.restartGuard != nil {
		s.restartGuard()
	}
}

// RestoreTerminal waits for the end of the process that started the guard, and restores
// the terminal if that process was killed.
func RestoreTerminal(m *cli.Main) error {
	var was unix.Termios
	from := os.NewFile(guardFile, "guarded")
	if err := binary.Read(from, binary.NativeEndian, &was); err != nil {
		err := messages.Invalid("terminal", "there is no terminal to guard")
		err.Hint = "troupe run --pty and troupe attach start this themselves"
		return err
	}
	if _, err := io.ReadFull(from, make([]byte, 1)); err == nil {
		return nil
	}
	text := make([]byte, guardSize)
	_, _ = os.NewFile(guardText, "text").ReadAt(text, 0)
	return cli.Control(m.In, func(fd int) {
		_ = unix.IoctlSetTermios(fd, setTermios, &was)
		_, _ = unix.Write(fd, bytes.Trim(text, "\x00"))
	})
}
