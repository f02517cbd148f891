package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"strings"

	"golang.org/x/sys/unix"

	"troupe/gateways/http/wire"
	"troupe/messages"
)

// fits gives the terminal of the job the size of ours. Where it has it already it is
// changed and changed back: what paints the terminal does so again then, and is seen by
// who has just come. It is an error if the job has no terminal.
func (s *seat) fits(job messages.JobID) error {
	size := s.main.terminalSize()
	s.size = size
	for _, rows := range []int{size.Rows + 1, size.Rows} {
		if err := s.Resize(s.ctx, messages.ResizeTerminal{Job: job, Size: messages.Terminal{Rows: rows, Cols: size.Cols}}); err != nil {
			return err
		}
	}
	return nil
}

// enters makes our terminal what the job's is now, whose program said so before we came:
// which screen is shown, and what keys send. It paints it anew itself (fits).
func (s *seat) enters(job messages.JobID) {
	if !s.screen.out.terminal {
		return
	}
	now, err := s.Screen(s.ctx, job)
	if err != nil {
		return // it has none, or can be sat at all the same
	}
	s.screen.follows(s.main)
	var modes strings.Builder
	for _, m := range []struct {
		on   bool
		sets string
	}{
		{now.Alternate, "\x1b[?1049h\x1b[H\x1b[2J"},
		{now.Keys.Cursor, "\x1b[?1h"},
		{now.Keys.Keypad, "\x1b="},
		{now.Keys.Paste, "\x1b[?2004h"},
		{now.Keys.Kitty != 0, fmt.Sprintf("\x1b[=%du", now.Keys.Kitty)},
		{!now.Cursor.Visible, "\x1b[?25l"},
	} {
		if m.on {
			modes.WriteString(m.sets)
		}
	}
	if modes.Len() > 0 {
		_, _ = s.screen.out.Write([]byte(modes.String()))
	}
}

// resizes gives it the size of ours whenever that changes.
func (s *seat) resizes(ctx context.Context, job messages.JobID) {
	if !s.pty {
		return
	}
	sizes := make(chan os.Signal, 1)
	signal.Notify(sizes, unix.SIGWINCH)
	defer signal.Stop(sizes)
	for {
		if now := s.main.terminalSize(); now != s.size { // at first, too: it may have changed meanwhile
			s.size = now
			_ = s.Resize(ctx, messages.ResizeTerminal{Job: job, Size: now}) // refused: it has ended
		}
		select {
		case <-sizes:
		case <-ctx.Done():
			return
		}
	}
}

// passes is what of the output our terminal is shown: all, but for questions that others
// answer, and the clipboard.
func (s *seat) passes(b []byte) []byte {
	s.shown += int64(len(b))
	if !s.mute.Questions && s.answers >= 0 && s.shown > s.answers {
		quiet := max(0, int64(len(b))-(s.shown-s.answers))
		out := s.mute.Append(nil, b[:quiet])
		s.mute.Questions = true
		return s.mute.Append(out, b[quiet:])
	}
	return s.mute.Append(nil, b)
}

// answering hears from which byte on our terminal answers what is asked, or that it does
// no more.
func (s *seat) answering(said wire.AttachSaid) {
	s.answers, s.mute.Questions = -1, false
	if said.Held {
		s.answers = said.Offset
	}
}
