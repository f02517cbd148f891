package terminal

import (
	"golang.org/x/sys/unix"

	"troupe/internal/cli"
)

// InForeground reports whether we are in the foreground process group of stdout's terminal.
// The kernel stops a background process that changes modes.
func InForeground(m *cli.Main) bool {
	group, err := 0, error(nil)
	_ = cli.Control(m.Out, func(fd int) { group, err = unix.IoctlGetInt(fd, unix.TIOCGPGRP) })
	return err == nil && group == unix.Getpgrp()
}

// PassiveScreen makes our terminal show bytes unchanged and without echo, until restore is
// called. Ctrl-C still sends a signal. Other input, also Ctrl-Z and mouse reports, is
// discarded.
func PassiveScreen(m *cli.Main, s *Printer) (restore func()) {
	restore, _ = changeTerminal(m, m.Out, s, func(modes *unix.Termios) {
		modes.Oflag &^= unix.OPOST
		modes.Lflag &^= unix.ECHO | unix.ECHONL
		modes.Cc[unix.VSUSP] = noKey
	}, func() uint {
		if s.stuck.Load() {
			return setTermios // TCSETSF would wait until all output is written
		}
		return forgetAndSetTermios
	})
	return restore
}
