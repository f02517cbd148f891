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

// ErrSIGPIPE ends a verb whose stdout nobody reads any more. There is nobody to tell:
// its status is that of a program which a refused write has ended.
var ErrSIGPIPE = fmt.Errorf("nobody reads stdout any more: %w", cli.ExitStatus(cli.SignalBase+int(unix.SIGPIPE)))

// WriteError is the error of an output that takes no more.
func WriteError(err error) error {
	if errors.Is(err, unix.EPIPE) {
		return ErrSIGPIPE
	}
	return &OutputError{Err: err}
}

// WithStdoutReader is a context that ends, caused by ErrSIGPIPE, when the reader of stdout has
// left. Only a write is told of that, and a verb that follows something may have
// nothing to write for days: so its stdout is looked at, as tail -f does. A file or a
// terminal has no such reader. done is to be called at the end.
func WithStdoutReader(ctx context.Context, m *cli.Main) (_ context.Context, done func()) {
	ctx, leave := context.WithCancelCause(ctx)
	end := func() { leave(context.Canceled) }
	info, err := m.Out.Stat()
	if err != nil || info.Mode()&(fs.ModeNamedPipe|fs.ModeSocket) == 0 {
		return ctx, end
	}
	over, wake, err := os.Pipe()
	if err != nil {
		return ctx, end // then a write tells
	}
	go func() {
		defer over.Close()
		if waitReaderGone(m.Out, over) {
			leave(ErrSIGPIPE)
		}
	}()
	return ctx, func() {
		end()
		_ = wake.Close()
	}
}

// waitReaderGone waits until a pipe or socket has no reader any more, or until the other
// end of over is closed, and says whether it was the former. Nothing else is asked for:
// that there is room to write wakes nobody.
func waitReaderGone(out, over *os.File) (left bool) {
	_ = cli.Control(out, func(out int) {
		_ = cli.Control(over, func(over int) {
			fds := []unix.PollFd{{Fd: int32(out)}, {Fd: int32(over), Events: unix.POLLIN}}
			_, err := unix.Poll(fds, -1)
			for errors.Is(err, unix.EINTR) {
				_, err = unix.Poll(fds, -1)
			}
			left = err == nil && fds[0].Revents&(unix.POLLERR|unix.POLLHUP) != 0
		})
	})
	return left
}

// CopyBuffer is how much of a log is copied at a time: more than a pipe takes.
const CopyBuffer = 128 << 10
