package engine

import "golang.org/x/sys/unix"

func (kernel) SetSize(master int, rows, cols uint16) error {
	return unix.IoctlSetWinsize(master, unix.TIOCSWINSZ, &unix.Winsize{Row: rows, Col: cols})
}

func (kernel) Modes(master int) (*unix.Termios, error) { return unix.IoctlGetTermios(master, getModes) }

func (kernel) SetModes(master int, modes *unix.Termios) error {
	return unix.IoctlSetTermios(master, setModes, modes)
}

func (kernel) Foreground(master int) (int, error) { return unix.IoctlGetInt(master, unix.TIOCGPGRP) }
