package main

import (
	"encoding/binary"
	"io"
	"os"
	"os/exec"
	"syscall"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"troupe/messages"
)

// Whoever makes a terminal raw must make it as it was, also if it is killed (kill -9).
// Then it cannot, and neither docker nor podman do: who sits there types `stty sane`
// blindly. We have a process beside us that waits for our end, and does nothing else.

// guardVerb is the role of that process.
const guardVerb = "terminal-guard"

// guardFile is the descriptor from which it learns of our end: behind the modes of the
// terminal comes a byte when all is well, or only the end.
const guardFile = 3

// unpainted leaves the other screen of a terminal, and takes back what programs change
// that paint it: the keys that they ask for (kitty's flags, of either screen, and xterm's), the
// mouse and the focus, brackets around what is pasted, the margins, the letters and the cursor.
// Where nothing of that was done, nothing of it is seen.
const unpainted = "\x1b[=0u" + leavesAlt + "\x1b[=0u\x1b[>4m" +
	"\x1b[?9;1000;1002;1003;1004;1005;1006;1015l\x1b[?2004l\x1b[?1l\x1b>" +
	"\x1b7\x1b[r\x1b8\x1b[?7h\x1b[4l\x1b(B\x0f\x1b[0m\x1b[0 q\x1b[?25h"

// Leaving the other screen leaves the cursor where it is, or takes it back where it was:
// that only where it was saved, or it goes anywhere.
const (
	leavesAlt   = "\x1b[?1047l"
	leavesSaved = "\x1b[?1049l"
)

// guarded has our terminal restored to some modes, should we be killed, until the
// function that it returns is called. Where there is no room for a process more, it is
// not: that hinders no command.
func (m *Main) guarded(was *unix.Termios) (over func()) {
	over = func() {}
	self, err := os.Executable()
	if err != nil {
		return over
	}
	r, w, err := os.Pipe()
	if err != nil {
		return over
	}
	guard := exec.Command(self, guardVerb)
	guard.Stdin, guard.Env, guard.ExtraFiles = m.In, []string{}, []*os.File{r}
	guard.SysProcAttr = &syscall.SysProcAttr{Setsid: true} // what is typed and shown there concerns it not
	err = guard.Start()
	_ = r.Close()
	if err == nil {
		err = binary.Write(w, binary.NativeEndian, was)
	}
	if err != nil {
		_ = w.Close()
		return over
	}
	return func() {
		_, _ = w.Write([]byte{1})
		_ = w.Close()
		_ = guard.Wait()
	}
}

func (m *Main) guardCommand() *cobra.Command {
	return &cobra.Command{
		Use: guardVerb, Short: "Restore the terminal of a troupe that is killed", Args: noArgs, Hidden: true,
		RunE: func(*cobra.Command, []string) error {
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
			return control(m.In, func(fd int) {
				_ = unix.IoctlSetTermios(fd, setTermios, &was)
				_, _ = unix.Write(fd, []byte(unpainted))
			})
		},
	}
}
