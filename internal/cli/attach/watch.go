package attach

import (
	"fmt"
	"strings"

	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// Who watches a job on a terminal, at a terminal, sees what that shows: its bytes as they
// are, but for questions and the clipboard. He does not change its size, and types nothing.

// watchTerminal has our terminal show that of the job, if it has one and so have we, and is the
// byte of its output from which on it is shown. What has a screen of its own has painted
// that already: it is drawn first, as text; else the line of the cursor is. leave gives
// our terminal back.
func (s *attachSession) watchTerminal(job messages.Job) (from int64, leave func()) {
	from, leave = job.Output[0].Bytes, func() {}
	if job.Terminal == (messages.Terminal{}) || !s.screen.Out.Terminal || !terminal.InForeground(s.Main) {
		return from, leave
	}
	now, err := s.Screen(s.Ctx, connect.UID(job))
	if err != nil {
		return from, leave // it is shown as text
	}
	if ours := cli.TerminalSize(s.Main); ours.Rows < now.Rows || ours.Cols < now.Cols {
		s.screen.Notef("the terminal of job %s has %d rows and %d columns, and this one has less", job.ID, now.Rows, now.Cols)
	}
	s.raw = true
	s.screen.Follows(s.Main)
	restore := terminal.PassiveScreen(s.Main, s.screen)
	leave = func() {
		s.screen.Unpaint(true) // once
		restore()
	}
	if !now.Alternate {
		line := cursorLine(now, cli.TerminalSize(s.Main).Cols)
		if line != "" {
			from = now.At
		}
		_, _ = s.screen.Out.Write([]byte(line))
		return from, leave
	}
	text := "\x1b[?1049h\x1b[H\x1b[2J" + strings.TrimRight(strings.Join(now.Lines, "\r\n"), "\r\n") + fmt.Sprintf("\x1b[%d;%dH", now.Cursor.Row+1, now.Cursor.Col+1)
	if !now.Cursor.Visible {
		text += "\x1b[?25l"
	}
	_, _ = s.screen.Out.Write([]byte(text))
	return now.At, leave
}
