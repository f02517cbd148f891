package rpcserve

import (
	"context"
	"io"
	"syscall"
	"time"

	"golang.org/x/sys/unix"
)

// goneEvery bounds one wait for the end of a client, so that it ends with its server. The
// client's end itself is an event.
const goneEvery = 250 * time.Millisecond

// awaitGone returns when the other end of a pipe or socket reads no more, or ctx ends. The other
// end may have sent its last byte before.
func awaitGone(ctx context.Context, out io.Writer) {
	raw := rawOf(out)
	for gone := false; !gone && ctx.Err() == nil; {
		if raw == nil { // it cannot be seen
			<-ctx.Done()
			return
		}
		err := raw.Control(func(fd uintptr) {
			of := []unix.PollFd{{Fd: int32(fd)}}                 //nolint:gosec // a descriptor is one
			n, _ := unix.Poll(of, int(goneEvery.Milliseconds())) // EINTR: once more
			gone = n > 0
		})
		gone = gone || err != nil
	}
}

func rawOf(out io.Writer) syscall.RawConn {
	conn, ok := out.(syscall.Conn)
	if !ok {
		return nil
	}
	raw, err := conn.SyscallConn()
	if err != nil {
		return nil
	}
	return raw
}
