package terminal

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TIOCGETA
	setTermios = unix.TIOCSETA

	forgetAndSetTermios = unix.TIOCSETAF // discards unread input

	noKey = 0xff // disables a control character
)
