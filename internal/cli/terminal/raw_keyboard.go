package terminal

import (
	"context"
	"errors"
	"io"
	"time"

	"golang.org/x/sys/unix"

	"troupe/internal/cli"
)

// RawKeyboard is keyboard for a terminal that passes on all it can: what is typed, and
// if it is only ours, what is shown. Others expect lines of it that are ended by LF.
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

// AwaitHangup gives the signal time that says why our terminal cannot be read any more:
// it comes a moment later, and ends ctx. The key for the end of the input is none to a
// terminal that is raw, whose end is a hang-up.
func AwaitHangup(ctx context.Context, err error) {
	if !errors.Is(err, unix.EIO) && !errors.Is(err, io.EOF) {
		return
	}
	select {
	case <-ctx.Done():
	case <-time.After(cli.ReaderPatience):
	}
}
