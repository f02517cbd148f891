package spill

import (
	"strconv"

	"golang.org/x/sys/unix"
)

// kernelSys is the Sys of Linux.
type kernelSys struct{}

// Memfd creates a file that can never become executable. Kernels before 6.3 do not know
// that flag.
func (kernelSys) Memfd(name string) (int, error) {
	fd, err := unix.MemfdCreate(name, unix.MFD_CLOEXEC|unix.MFD_NOEXEC_SEAL)
	if err == unix.EINVAL {
		fd, err = unix.MemfdCreate(name, unix.MFD_CLOEXEC)
	}
	return fd, err
}

func (kernelSys) Splice(from, to int, off, max int64) (int64, error) {
	at := &off
	if off < 0 {
		at = nil
	}
	return again(func() (int64, error) {
		n, err := unix.Splice(from, nil, to, at, int(max), unix.SPLICE_F_NONBLOCK|unix.SPLICE_F_MOVE)
		return int64(n), err
	})
}

func (kernelSys) Pipe(size int) (r, w int, err error) {
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC|unix.O_NONBLOCK); err != nil {
		return -1, -1, err
	}
	_, _ = unix.FcntlInt(uintptr(p[1]), unix.F_SETPIPE_SZ, size) // on failure the pipe stays smaller
	return p[0], p[1], nil
}

func (kernelSys) Sendfile(to, from int, off, n int64) (int64, error) {
	return again(func() (int64, error) {
		k, err := unix.Sendfile(to, from, &off, int(n))
		return int64(k), err
	})
}

func (kernelSys) Punch(fd int, off, n int64) error {
	_, err := again(func() (int, error) {
		return 0, unix.Fallocate(fd, unix.FALLOC_FL_PUNCH_HOLE|unix.FALLOC_FL_KEEP_SIZE, off, n)
	})
	return err
}

func (kernelSys) Sync(fd int) error {
	_, err := again(func() (int, error) { return 0, unix.Fdatasync(fd) })
	return err
}

func (kernelSys) IsPipe(fd int) bool {
	_, err := unix.FcntlInt(uintptr(fd), unix.F_GETPIPE_SZ, 0)
	return err == nil
}

func (kernelSys) Reopen(fd int) (int, error) {
	return again(func() (int, error) {
		return unix.Open("/proc/self/fd/"+strconv.Itoa(fd), unix.O_RDONLY|unix.O_CLOEXEC, 0)
	})
}

// Values of whence for lseek(2) that x/sys lacks.
const (
	seekData = 3
	seekHole = 4
)

func (kernelSys) Hole(fd int, off, size int64) (from, to int64, err error) {
	from, err = unix.Seek(fd, off, seekHole)
	if err != nil || from >= size {
		return size, size, err
	}
	to, err = unix.Seek(fd, from, seekData)
	if err == unix.ENXIO {
		return from, size, nil
	}
	return from, to, err
}
