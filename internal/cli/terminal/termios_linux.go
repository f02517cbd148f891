package terminal

import "golang.org/x/sys/unix"

const (
	getTermios = unix.TCGETS
	setTermios = unix.TCSETS

	forgetAndSetTermios = unix.TCSETSF // discards unread input

	noKey = 0 // disables a control character
)
