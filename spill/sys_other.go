//go:build !linux

package spill

import "golang.org/x/sys/unix"

// Without memfd a log is a file from its first byte. Without splice it is filled by read and
// write.

func (kernel) Memfd(string) (int, error)                    { return -1, unix.ENOSYS }
func (kernel) Splice(_, _ int, _, _ int64) (int64, error)   { return 0, unix.ENOSYS }
func (kernel) Sendfile(_, _ int, _, _ int64) (int64, error) { return 0, unix.ENOSYS }
func (kernel) Pipe(int) (r, w int, err error)               { return -1, -1, unix.ENOSYS }
func (kernel) Punch(_ int, _, _ int64) error                { return unix.EOPNOTSUPP }

func (kernel) Sync(fd int) error {
	_, err := again(func() (int, error) { return 0, unix.Fsync(fd) })
	return err
}

func (kernel) IsPipe(fd int) bool {
	var st unix.Stat_t
	return unix.Fstat(fd, &st) == nil && uint32(st.Mode)&unix.S_IFMT == unix.S_IFIFO
}

func (kernel) Reopen(int) (int, error)                         { return -1, unix.ENOSYS }
func (kernel) Hole(_ int, _, size int64) (_, _ int64, _ error) { return size, size, nil }
