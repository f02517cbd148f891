package peer

import "golang.org/x/sys/unix"

// owner is the user who connected, or who listens, and the process; 0 is one that
// cannot be seen from here.
func owner(fd int) (uid, pid int, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, 0, err
	}
	return int(cred.Uid), int(cred.Pid), nil
}
