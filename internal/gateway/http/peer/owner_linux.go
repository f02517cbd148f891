package peer

import "golang.org/x/sys/unix"

// owner returns the user and the process at the other end of a socket; pid 0 means a
// process in another pid namespace.
func owner(fd int) (uid, pid int, err error) {
	cred, err := unix.GetsockoptUcred(fd, unix.SOL_SOCKET, unix.SO_PEERCRED)
	if err != nil {
		return -1, 0, err
	}
	return int(cred.Uid), int(cred.Pid), nil
}
