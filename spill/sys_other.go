//go:build !linux

package spill

import "golang.org/x/sys/unix"

// kernelSys is the Sys of other systems. Without memfd a log is a file from its first byte.
// Without splice it is filled by read and write.
type kernelSys struct{}

func (kernelSys) Memfd(string) (int, error)                    { return -1, unix.ENOSYS }
func (kernelSys) Splice(_, _ int, _, _ int64) (int64, error)   { return 0, unix.ENOSYS }
func (kernelSys) Sendfile(_, _ int, _, _ int64) (int64, error) { return 0, unix.ENOSYS }
func (kernelSys) Pipe(int) (r, w int, err error)               { return -1, -1, unix.ENOSYS }
func (kernelSys) Punch(_ int, _, _ int64) error                { return unix.EOPNOTSUPP }

func (kernelSys) Sync(fd int) error {
	_, err := again(func() (int, error) { return 0, unix.Fsync(fd) })
	return err
}

func (kernelSys) IsPipe(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && uint32(st.Mode)&unix.S_IFMT == unix.S_IFIFO
}

func (kernelSys) Reopen(int) (int, error)                         { return -1, unix.ENOSYS }
func (kernelSys) Hole(_ int, _, size int64) (_, _ int64, _ error) { return size, size, nil }
