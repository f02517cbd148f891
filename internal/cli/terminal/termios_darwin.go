package terminal

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA

	forgetAndSetTermios = unix.TIOCSETAF // what was typed and not read is lost

	noKey = 0xff // in the place of a key that is none
)
