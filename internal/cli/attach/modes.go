package attach

import (
	"context"
	"fmt"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"troupe/host"
	"troupe/internal/api"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// resize requests a size for this attachment. The first makes a full-screen program redraw even
// if the size was right. After the attachment ends, the size of another attached client applies
// again.
func (s *attachSession) resize(ctx context.Context, size messages.Terminal) {
	_ = s.at.Say(ctx, api.AttachRequest{Kind: api.AttachResize, Rows: size.Rows, Cols: size.Cols})
}

// queryModes stores in s.modes the sequences that give our terminal the state of the job's:
// screen, key and mouse modes, and the cursor line. Output from byte from on follows them.
func (s *attachSession) queryModes(job messages.Record) (from int64) {
	from = job.Output[0].Bytes
	if !s.screen.Out.Terminal {
		return from
	}
	now, err := host.Ask(s.Ctx, s.Host(), messages.ReadScreen{Job: connect.UID(job)})
	if err != nil {
		return from // without a screen the attachment still works
	}
	s.modes = now.Modes
	if line := cursorLine(now, cli.TerminalSize(s.Main).Cols); line != "" {
		s.modes += line
		from = now.At
	}
	return from
}

// cursorLine returns text that shows the line of the cursor, such as a prompt. Programs
// that work by lines do not repeat it for a new client. It returns "" for the alternate
// screen, which is redrawn whole, and if the line does not fit.
func cursorLine(now messages.ScreenText, cols int) string {
	row, col := now.Row, now.Col
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

// enterModes writes s.modes to our terminal, which is in raw mode by then. The program
// redraws the rest (resize).
func (s *attachSession) enterModes() {
	if s.modes != "" {
		_, _ = s.screen.Out.Write([]byte(s.modes))
	}
}

// refused requests a redraw of the job's terminal at its present size, for a client without
// the input lease.
func (s *attachSession) refused(ctx context.Context) {
	if s.pty {
		s.answer(ctx, api.AttachRepaint)
	}
}

// resizes gives the job's terminal our size when the lease is granted, and after
// each change while we hold it. Without the lease the size belongs to another client.
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
			s.resize(ctx, s.size)
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

// filter returns the output for our terminal: without clipboard access, and without terminal
// queries before byte s.answers, which other terminals answer.
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

// setAnswering stores the byte from which our terminal answers queries, or -1 for none.
func (s *attachSession) setAnswering(said api.AttachEvent) {
	s.answers, s.queryFilter.Questions = -1, false
	if said.Held {
		s.answers = said.Offset
	}
}
