package attach

import (
	"fmt"
	"strings"

	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// watchTerminal shows the job's terminal on ours, if both exist: the raw output, without
// queries and clipboard access. It first draws the alternate screen as text, or the cursor
// line. Output from byte from on follows. leave restores our terminal.
func (s *attachSession) watchTerminal(job messages.Record) (from int64, leave func()) {
	from, leave = job.Output[0].Bytes, func() {}
	if job.Terminal == (messages.Terminal{}) || !s.screen.Out.Terminal || !terminal.InForeground(s.Main) {
		return from, leave
	}
	now, err := host.Ask(s.Ctx, s.Host(), messages.ReadScreen{Job: connect.UID(job)})
	if err != nil {
		return from, leave // fall back to text
	}
	if ours := cli.TerminalSize(s.Main); ours.Rows < now.Terminal.Rows || ours.Cols < now.Terminal.Cols {
		s.screen.Notef("the terminal of job %s has %d rows and %d columns; this terminal is smaller", job.ID, now.Terminal.Rows, now.Terminal.Cols)
	}
	s.raw = true
	s.screen.Follows(s.Main)
	restore := terminal.PassiveScreen(s.Main, s.screen)
	leave = func() {
		s.screen.Unpaint(true) // later calls do nothing
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
	text := "\x1b[?1049h\x1b[H\x1b[2J" + strings.TrimRight(strings.Join(now.Lines, "\r\n"), "\r\n") + fmt.Sprintf("\x1b[%d;%dH", now.Row+1, now.Col+1)
	if !now.Visible {
		text += "\x1b[?25l"
	}
	_, _ = s.screen.Out.Write([]byte(text))
	return now.At, leave
}
