package terminal

import (
	"golang.org/x/sys/unix"

	"troupe/internal/cli"
)

// InForeground reports whether our terminal is ours to change: who does that from behind is
// stopped.
func InForeground(m *cli.Main) bool {
	group, err := 0, error(nil)
	_ = cli.Control(m.Out, func(fd int) { group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP) })
	return err == nil && group == unix.Getpgrp()
}

// PassiveScreen makes our terminal one that shows bytes as they are, and not what is typed,
// until the function that it returns is called: Ctrl-C is a signal still, and what else was
// typed, Ctrl-Z too, or the mouse has told, is for nobody.
func PassiveScreen(m *cli.Main, s *Printer) (restore func()) {
	restore, _ = changeTerminal(m, m.Out, s, func(modes *unix.Termios) {
		modes.Oflag &^= unix.OPOST
		modes.Lflag &^= unix.ECHO | unix.ECHONL
		modes.Cc[unix.VSUSP] = noKey
	}, func() uint {
		if s.stuck.Load() {
			return setTermios // the other one waits until all is shown
		}
		return forgetAndSetTermios
	})
	return restore
}
