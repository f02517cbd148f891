package terminal

import (
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"troupe/internal/cli"
)

// RawKeyboard makes the terminal on stdin deliver each byte unchanged, until restore is
// called. It makes output raw only if stdout is a terminal: other writers to the terminal
// end lines with LF.
func RawKeyboard(m *cli.Main, s *Printer) (restore func()) {
	back, done := changeTerminal(m, m.In, s, func(modes *unix.Termios) {
		modes.Iflag &^= unix.IGNBRK | unix.BRKINT | unix.PARMRK | unix.ISTRIP | unix.INLCR | unix.IGNCR | unix.ICRNL | unix.IXON
		if s.Out.Terminal {
			modes.Oflag &^= unix.OPOST
		}
		modes.Lflag &^= unix.ECHO | unix.ECHONL | unix.ICANON | unix.ISIG | unix.IEXTEN
		modes.Cc[unix.VMIN], modes.Cc[unix.VTIME] = 1, 0
	}, plainly)
	s.raw.Store(done && s.Out.Terminal)
	return func() {
		s.raw.Store(false)
		back()
	}
}

// AwaitHangup waits after a failed read of the terminal for the SIGHUP that explains it and
// ends ctx. A raw terminal has no key for end of file, so io.EOF means a hang-up.
func AwaitHangup(ctx context.Context, err error) {
	if !errors.Is(err, unix.EIO) && !errors.Is(err, io.EOF) {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(cli.ReaderPatience):
	}
}
