package attach

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/out"
	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// setJobSize gives the terminal of the job a size. Where it has it already it is changed and
// changed back: what paints the terminal does so again then, and is seen by who has just
// come.
func (s *attachSession) setJobSize(ctx context.Context, size messages.Terminal) {
	for _, rows := range []int{size.Rows + 1, size.Rows} {
		s.resize(ctx, messages.Terminal{Rows: rows, Cols: size.Cols})
	}
}

// resize asks for a size as who is attached: when he leaves, whoever else sits there has
// his own again.
func (s *attachSession) resize(ctx context.Context, size messages.Terminal) {
	_ = s.at.Say(ctx, wire.AttachRequest{Kind: wire.AttachResize, Rows: size.Rows, Cols: size.Cols})
}

// queryModes finds out what our terminal is to be told to be what the job's is now, whose
// program said so before we came: which screen is shown, what keys and the mouse send, the
// line that the cursor is in. What the job writes from byte from on is shown behind that.
func (s *attachSession) queryModes(job messages.Job) (from int64) {
	from = job.Output[0].Bytes
	if !s.screen.Out.Terminal {
		return from
	}
	now, err := s.Screen(s.Ctx, connect.UID(job))
	if err != nil {
		return from // it has none, or can be sat at all the same
	}
	s.modes = now.Modes
	if line := cursorLine(now, cli.TerminalSize(s.Main).Cols); line != "" {
		s.modes += line
		from = now.At
	}
	return from
}

// cursorLine is what shows the line that the cursor is in, where it is a prompt or the
// beginning of what comes: who reads or writes lines does not write them anew for who has
// just come. It is empty of another screen, which is painted whole, and if there is no room.
func cursorLine(now wire.Screen, cols int) string {
	row, col := now.Cursor.Row, now.Cursor.Col
	if now.Alternate || row >= len(now.Lines) || col >= cols || out.Cells(now.Lines[row]) >= cols {
		return ""
	}
	line := now.Lines[row]
	if col == out.Cells(line) {
		return line
	}
	if line != "" {
		line += "\r"
	}
	if col > 0 {
		line += fmt.Sprintf("\x1b[%dC", col)
	}
	return line
}

// enterModes makes our terminal so, when it passes on what is typed. The program paints it anew
// itself (fits).
func (s *attachSession) enterModes() {
	if s.modes != "" {
		_, _ = s.screen.Out.Write([]byte(s.modes))
	}
}

// refused has what is on the terminal painted for who only watches, in the size that it has.
func (s *attachSession) refused(ctx context.Context) {
	if s.pty {
		_ = s.at.Say(ctx, wire.AttachRequest{Kind: wire.AttachRepaint})
	}
}

// resizes gives it the size of ours when we may type, and whenever that changes while we
// may: who watches leaves it to whoever sits there.
func (s *attachSession) resizes(ctx context.Context) {
	if !s.pty {
		return
	}
	sizes := make(chan os.Signal, 1)
	signal.Notify(sizes, unix.SIGWINCH)
	defer signal.Stop(sizes)
	for {
		select {
		case <-s.granted:
			s.size = cli.TerminalSize(s.Main)
			s.setJobSize(ctx, s.size)
		case <-sizes:
			if now := cli.TerminalSize(s.Main); now != s.size && s.mayType.Load() {
				s.size = now
				s.resize(ctx, now)
			}
		case <-ctx.Done():
			return
		}
	}
}

// filter is what of the output our terminal is shown: all, but for questions that others
// answer, and the clipboard.
func (s *attachSession) filter(b []byte) []byte {
	s.shown += int64(len(b))
	if !s.queryFilter.Questions && s.answers >= 0 && s.shown > s.answers {
		quiet := max(0, int64(len(b))-(s.shown-s.answers))
		out := s.queryFilter.Append(nil, b[:quiet])
		s.queryFilter.Questions = true
		return s.queryFilter.Append(out, b[quiet:])
	}
	return s.queryFilter.Append(nil, b)
}

// setAnswering hears from which byte on our terminal answers what is asked, or that it does
// no more.
func (s *attachSession) setAnswering(said wire.AttachEvent) {
	s.answers, s.queryFilter.Questions = -1, false
	if said.Held {
		s.answers = said.Offset
	}
}
