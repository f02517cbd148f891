package main

import (
	"context"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"troupe/gateways/http/wire"
	"troupe/messages"
)

// fits gives the terminal of the job a size. Where it has it already it is changed and
// changed back: what paints the terminal does so again then, and is seen by who has just
// come.
func (s *seat) fits(ctx context.Context, size messages.Terminal) {
	for _, rows := range []int{size.Rows + 1, size.Rows} {
		s.resize(ctx, messages.Terminal{Rows: rows, Cols: size.Cols})
	}
}

// resize asks for a size as who is attached: when he leaves, whoever else sits there has
// his own again.
func (s *seat) resize(ctx context.Context, size messages.Terminal) {
	_ = s.at.Say(ctx, wire.AttachRequest{Kind: wire.AttachResize, Rows: size.Rows, Cols: size.Cols})
}

// asksModes finds out what our terminal is to be told to be what the job's is now, whose
// program said so before we came: which screen is shown, what keys and the mouse send.
func (s *seat) asksModes(job messages.JobID) {
	if !s.screen.out.terminal {
		return
	}
	if now, err := s.Screen(s.ctx, job); err == nil { // else it has none, or can be sat at all the same
		s.modes = now.Modes
	}
}

// enters makes our terminal so, when it passes on what is typed. The program paints it anew
// itself (fits).
func (s *seat) enters() {
	if s.modes != "" {
		_, _ = s.screen.out.Write([]byte(s.modes))
	}
}

// refused has what is on the terminal painted for who only watches, in the size that it has.
func (s *seat) refused(ctx context.Context) {
	if s.pty {
		_ = s.at.Say(ctx, wire.AttachRequest{Kind: wire.AttachRepaint})
	}
}

// resizes gives it the size of ours when we may type, and whenever that changes while we
// may: who watches leaves it to whoever sits there.
func (s *seat) resizes(ctx context.Context) {
	if !s.pty {
		return
	}
	sizes := make(chan os.Signal, 1)
	signal.Notify(sizes, unix.SIGWINCH)
	defer signal.Stop(sizes)
	for {
		select {
		case <-s.granted:
			s.size = s.main.terminalSize()
			s.fits(ctx, s.size)
		case <-sizes:
			if now := s.main.terminalSize(); now != s.size && s.types.Load() {
				s.size = now
				s.resize(ctx, now)
			}
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
