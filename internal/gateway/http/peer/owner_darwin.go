package peer

import "golang.org/x/sys/unix"

// owner returns the user and the process at the other end of a socket; pid 0 means
// unknown.
func owner(fd int) (uid, pid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return -1, 0, err
	}
	if pid, err = unix.GetsockoptInt(fd, unix.SOL_LOCAL, unix.LOCAL_PEERPID); err != nil {
		pid = 0
	}
	return int(cred.Uid), pid, nil
}
