package out

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"

	"golang.org/x/sys/unix"

	"troupe/internal/cli"
)

// ErrSIGPIPE ends a verb whose stdout reader is gone, with the status of SIGPIPE and no
// message.
var ErrSIGPIPE = fmt.Errorf("stdout has no reader any more: %w", cli.ExitStatus(cli.SignalBase+int(unix.SIGPIPE)))

// WriteError returns ErrSIGPIPE for EPIPE, and an OutputError for other errors.
func WriteError(err error) error {
	if errors.Is(err, unix.EPIPE) {
		return ErrSIGPIPE
	}
	return &OutputError{Err: err}
}

// WithStdoutReader returns a context that ErrSIGPIPE cancels when stdout has no reader any
// more. The caller must call done.
func WithStdoutReader(ctx context.Context, m *cli.Main) (_ context.Context, done func()) {
	return WithReader(ctx, m.Out)
}

// WithReader returns a context that ErrSIGPIPE cancels when a pipe or socket has no reader any
// more. Only a write would report that, and a verb that follows may not write for days. It
// polls the file instead, as tail -f does. The caller must call done, before it closes the file.
func WithReader(ctx context.Context, to *os.File) (_ context.Context, done func()) {
	ctx, leave := context.WithCancelCause(ctx)
	end := func() { leave(context.Canceled) }
	info, err := to.Stat()
	if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return ctx, end
	}
	stopped, wake, err := os.Pipe()
	if err != nil {
		return ctx, end // the next write reports it
	}
	go func() {
		defer stopped.Close()
		if waitReaderGone(to, stopped) {
			leave(ErrSIGPIPE)
		}
	}()
	return ctx, func() {
		end()
		_ = wake.Close()
	}
}

// waitReaderGone waits until a pipe or socket has no reader, which left reports, or until the
// other end of stopped is closed. It requests no event of out: free space must not wake it.
func waitReaderGone(out, stopped *os.File) (left bool) {
	_ = cli.Control(out, func(out int) {
		_ = cli.Control(stopped, func(stopped int) {
			fds := []unix.PollFd{{Fd: int32(out)}, {Fd: int32(stopped), Events: unix.POLLIN}}
			_, err := unix.Poll(fds, -1)
			for errors.Is(err, unix.EINTR) {
				_, err = unix.Poll(fds, -1)
			}
			left = err == nil && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
		})
	})
	return left
}

// CopyBuffer is the size of a copy buffer for logs, in bytes: more than a pipe holds.
const CopyBuffer = 128 << 10
