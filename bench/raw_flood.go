//go:build linux

package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// rawFlood reads a terminal in a loop and keeps nothing.
type rawFlood struct {
	content content
	buf     []byte
}

func newRawFlood(_ context.Context, e assignment) (runner, error) {
	c, err := makeContent(filepath.Join(e.Dir, "raw-content"), e.Size.PtyMiB)
	return &rawFlood{c, make([]byte, 64<<10)}, err
}

func (r *rawFlood) round(ctx context.Context) (values, error) {
	master, slave, err := openPty()
	if err != nil {
		return nil, err
	}
	defer master.Close()
	defer slave.Close()
	start := time.Now()
	cmd := exec.CommandContext(ctx, "bash", "--norc", "--noprofile", "-c", plainTerminal+r.content.producer())
	cmd.Stdin, cmd.Stdout, cmd.Stderr = slave, slave, slave
	cmd.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true}
	if err := errors.Join(cmd.Start(), slave.Close()); err != nil {
		return nil, err
	}
	read := int64(0)
	for {
		n, err := master.Read(r.buf)
		read += int64(n)
		if errors.Is(err, syscall.EIO) {
			break
		}
		if err != nil {
			return nil, errors.Join(err, cmd.Wait())
		}
	}
	if err := cmd.Wait(); err != nil {
		return nil, err
	}
	took := time.Since(start)
	if read != r.content.bytes() {
		return nil, fmt.Errorf("got %d bytes of %d", read, r.content.bytes())
	}
	return values{"rate": perSecond(int(read), took) / 1e6}, nil
}

func (*rawFlood) close() error { return nil }

// openPty opens a terminal whose master does not block.
func openPty() (master, slave *os.File, err error) {
	fd, err := unix.Open("/dev/ptmx", unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, nil, err
	}
	master = os.NewFile(uintptr(fd), "ptmx")
	n, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
	if err = errors.Join(err, unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)); err == nil {
		var s int
		if s, err = unix.Open("/dev/pts/"+strconv.Itoa(n), unix.O_RDWR|unix.O_NOCTTY|unix.O_CLOEXEC, 0); err == nil {
			return master, os.NewFile(uintptr(s), "pts"), nil
		}
	}
	return nil, nil, errors.Join(err, master.Close())
}
