package run

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"troupe/host"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/out"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// With --pty our terminal is raw, and output and keys pass through it unchanged. Input
// that is not from a terminal is copied to the command, followed by the end-of-file
// key.

// terminalInput connects our terminal to that of the command.
type terminalInput struct {
	*foreground
	ctx context.Context
}

// attachTerminal makes our terminal raw before any output. leave restores it and ends
// the display; cut starts a new line there. pass forwards keys and sizes; call it after
// the submit.
func (g *foreground) attachTerminal(ctx context.Context) (pass func(), leave func(cut bool)) {
	if g.request.Terminal == (messages.Terminal{}) || g.request.Mode.Background() {
		return func() {}, func(bool) {}
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &terminalInput{g, ctx}
	sizes := make(chan os.Signal, 1)
	signal.Notify(sizes, unix.SIGWINCH)
	restore := func() {}
	if !g.flags.JSON {
		g.screen.Follows(g.main)
	}
	if forwardsKeys(s.main, s.flags) { // also if output goes elsewhere: a password must not be echoed here either
		restore = terminal.RawKeyboard(g.main, g.screen)
	}
	left := false
	return func() { go s.pass(sizes) }, func(cut bool) {
		if left {
			return
		}
		left = true
		cancel()
		signal.Stop(sizes)
		g.screen.GivesBack(cut, g.signals)
		restore()
	}
}

// addReattachHint reports whether the daemon has left. The job keeps running
// (docs/cli.md), so it adds to the error how to attach again.
func (g *foreground) addReattachHint(e *ended) bool {
	if !errors.Is(e.err, connect.DaemonLeft) {
		return false
	}
	if g.request.Shown {
		left := *connect.DaemonLeft // errors.Is still finds it
		left.Message = "the connection to the daemon broke"
		left.Hint = "restart the daemon with troupe serve; then troupe attach " + cmp.Or(g.flags.Name, string(g.job)) + " connects to the command again"
		e.err = &left
	}
	return true
}

// forwardsKeys reports whether stdin goes to the command's terminal.
func forwardsKeys(m *cli.Main, f *Flags) bool {
	return !f.NoStdin && f.File != "-" && !(f.JSON && cli.IsTerminal(m.In))
}

func (s *terminalInput) pass(sizes <-chan os.Signal) {
	if s.host.started(s.ctx) != nil {
		return
	}
	go s.follow(sizes)
	if !forwardsKeys(s.main, s.flags) {
		return
	}
	left, err := s.copy()
	switch {
	case err != nil:
	case left:
		s.signals.Detached.Store(true)
		_, err = host.Ask(s.ctx, s.host, messages.PromoteCommand{Job: s.job, Keep: true}) // the reply ends the run
	default:
		err = s.host.closeInput(s.ctx)
	}
	var coded *messages.Error
	if s.ctx.Err() == nil && errors.As(err, &coded) && coded.Code != messages.JobFinished && coded.Code != messages.NoInput {
		s.abort(fmt.Errorf("cannot forward the input: %w", err))
	}
}

// copy sends stdin to the command, as fast as the command reads it, until EOF. For a
// user at a terminal and a job in the daemon, the detach keys end it, too.
func (s *terminalInput) copy() (left bool, err error) {
	keys, sits := terminal.DetachScanner{}, cli.IsTerminal(s.main.In)
	if s.host.daemon != nil && sits {
		keys.Keys = s.flags.leave
	}
	to, buf := s.host.writer(s.ctx), make([]byte, out.CopyBuffer)
	for {
		n, err := s.main.In.Read(buf)
		typed, left := keys.Filter(buf[:n])
		if len(typed) > 0 {
			if err := to.Write(typed); err != nil {
				return false, err
			}
		}
		switch {
		case left:
			return true, nil
		case errors.Is(err, io.EOF) && !sits:
			return false, nil
		case err != nil:
			terminal.AwaitHangup(s.ctx, err)
			return false, out.Unreadable("input", "the input", err)
		}
	}
}

// follow sends each new size of our terminal to that of the command.
func (s *terminalInput) follow(sizes <-chan os.Signal) {
	terminal.FollowSize(s.ctx, sizes, s.request.Terminal, func() messages.Terminal { return cli.TerminalSize(s.main) }, func(now messages.Terminal) {
		_, _ = host.Ask(s.ctx, s.host, messages.ResizeTerminal{Job: s.job, Size: now}) // fails only if the job has ended
	})
}
