package peer

import "golang.org/x/sys/unix"

// owner is the user who connected, or who listens, and the process; 0 is one that
// cannot be found out.
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
