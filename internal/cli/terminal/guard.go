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

// A process killed by SIGKILL cannot restore the terminal that it made raw. With docker and
// podman the user then types `stty sane` blindly. troupe starts a guard process, which waits
// for the end of its parent and restores the terminal.

// GuardVerb is the verb of the guard process.
const GuardVerb = "terminal-guard"

// The descriptors of the guard. guardFile is a pipe with the modes of the terminal; then one
// byte after a regular end, or only end of file. guardText is a file of guardSize bytes: the
// text to write to the terminal, padded with zeros.
const (
	guardFile = 3
	guardText = 4
	guardSize = 1 << 10
)

// terminalGuard is the parent's handle of the guard process.
type terminalGuard struct{ text *os.File }

// keep replaces the text that the guard writes if we are killed. One write replaces the
// whole text, so the guard never reads a mixture.
func (g *terminalGuard) keep(text string) {
	p := make([]byte, guardSize)
	copy(p, text)
	_, _ = g.text.WriteAt(p, 0)
}

// guardTerminal starts a guard that restores the modes and the screen of our terminal if we
// are killed before endGuard is called. If the guard cannot start, the verb runs without it.
func guardTerminal(m *cli.Main, at *os.File, was *unix.Termios, s *Printer) (endGuard func()) {
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
	s.guard.Store(int64(process.Process.Pid))
	return func() {
		s.guardedBy(nil)
		if s.stuck.Load() { // leave the guard: it acts after our end, when the terminal accepts output
			return
		}
		_, _ = w.Write([]byte{1})
		_ = w.Close()
		_ = text.Close()
		_ = process.Wait()
		s.guard.Store(0)
	}
}

// changeTerminal changes the modes of a terminal until restore is called or we are killed.
// done reports success; it is false for other files. how returns the ioctl request with
// which restore sets the old modes.
func changeTerminal(m *cli.Main, at *os.File, s *Printer, change func(modes *unix.Termios), how func() uint) (restore func(), done bool) {
	restore = func() {}
	_ = cli.Control(at, func(fd int) {
		was, err := unix.IoctlGetTermios(fd, getTermios)
		if err != nil {
			return
		}
		now := *was
		change(&now)
		endGuard, enableSuspend := guardTerminal(m, at, was, s), cli.DisableSuspend()
		if unix.IoctlSetTermios(fd, setTermios, &now) != nil {
			enableSuspend()
			endGuard()
			return
		}
		done = true
		restore = func() {
			_ = cli.Control(at, func(fd int) { _ = unix.IoctlSetTermios(fd, how(), was) })
			enableSuspend()
			endGuard()
		}
	})
	return restore, done
}

// plainly returns the request that keeps unread input.
func plainly() uint { return setTermios }

// startGuard starts the guard process. w is our end of guardFile.
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
	process.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // no signals or job control from the terminal
	if err = process.Start(); err == nil {
		err = binary.Write(w, binary.NativeEndian, was)
	}
	if err != nil {
		_ = w.Close()
	}
	return process, w, err
}

// IsGuard reports whether a process is the guard. A node of this process would take it for one of
// its jobs.
func (s *Printer) IsGuard(pid int) bool { return int64(pid) == s.guard.Load() }

// RestoreTerminal runs the guard: it waits for the end of its parent, and restores the
// terminal if the parent was killed.
func RestoreTerminal(m *cli.Main) error {
	var was unix.Termios
	from := os.NewFile(guardFile, "guarded")
	if err := binary.Read(from, binary.NativeEndian, &was); err != nil {
		err := messages.Invalid("terminal", "no terminal to restore")
		err.Hint = "this verb is internal: verbs that change the terminal start it"
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
