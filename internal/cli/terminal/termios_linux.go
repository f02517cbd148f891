package terminal

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS

	forgetAndSetTermios = unix.TCSETSF // what was typed and not read is lost

	noKey = 0 // in the place of a key that is none
)
