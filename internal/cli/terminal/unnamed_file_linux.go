package terminal

import (
	"os"

	"golang.org/x/sys/unix"
)

// unnamedFile creates a file that exists while a process has it open.
func unnamedFile() (*os.File, error) {
	fd, err := unix.MemfdCreate("troupe-guard", unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL { // before Linux 6.3
		fd, err = unix.MemfdCreate("troupe-guard", unix.MFD_CLOEXEC)
	}
	if err != nil {
		return nil, err
	}
	return os.NewFile(uintptr(fd), "guard"), nil
}
