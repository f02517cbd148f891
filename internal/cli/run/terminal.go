package run

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"

	"golang.org/x/sys/unix"

	"troupe/client"
	"troupe/internal/cli"
	"troupe/internal/cli/connect"
	"troupe/internal/cli/out"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// A command on a terminal of its own (--pty) is shown as it is, and what is typed here
// goes to it key by key: our terminal only passes on. If that is none, or not ours to
// read, the command has what we read, and the key for its end behind it.

// inputSender is how a host is asked to type, once the job takes it.
type inputSender interface {
	begun(ctx context.Context, id messages.JobID) error
	Input(ctx context.Context, r messages.WriteInput) (int64, error)
	CloseInput(ctx context.Context, id messages.JobID) error
	Resize(ctx context.Context, r messages.ResizeTerminal) error
}

// terminalInput is one who sits at the terminal of a command.
type terminalInput struct {
	*foreground
	inputSender
	ctx context.Context
}

// attachTerminal makes our terminal one that only passes on, before anything is shown there, until
// leave is called: then it is as before, and nothing is shown any more. Where the command
// was cut off, a line begins there. pass passes on what is typed and how large it is, once
// the command is asked for.
func (g *foreground) attachTerminal(ctx context.Context) (pass func(), leave func(cut bool)) {
	if g.request.Terminal == (messages.Terminal{}) || g.request.Background {
		return func() {}, func(bool) {}
	}
	t, _ := g.host.(inputSender)
	if h, ok := g.host.(*daemonHost); ok {
		t = daemonInput{h.client, h}
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &terminalInput{g, t, ctx}
	sizes := make(chan os.Signal, 1)
	signal.Notify(sizes, unix.SIGWINCH)
	restore := func() {}
	if !g.flags.JSON {
		g.screen.Follows(g.main)
	}
	if forwardsKeys(s.main, s.flags) { // also if what it prints goes elsewhere: a password is not shown here either
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

// addReattachHint adds to the error of a run whose daemon has left how whoever sat at its
// terminal comes back to it: it goes on (docs/cli.md). It reports whether that is so.
func (g *foreground) addReattachHint(e *ended) bool {
	if !errors.Is(e.err, connect.DaemonLeft) {
		return false
	}
	if g.request.Shown {
		left := *connect.DaemonLeft // which errors.Is finds still
		left.Message = "the daemon has left"
		left.Hint = "troupe serve starts it again; troupe attach " + cmp.Or(g.flags.Name, string(g.job)) + " comes back to the command"
		e.err = &left
	}
	return true
}

// forwardsKeys reports whether what is read here is for the terminal of the command.
func forwardsKeys(m *cli.Main, f *Flags) bool {
	return !f.NoStdin && f.File != "-" && !(f.JSON && cli.IsTerminal(m.In))
}

func (s *terminalInput) pass(sizes <-chan os.Signal) {
	if s.begun(s.ctx, s.job) != nil {
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
		_, err = s.host.(*daemonHost).client.Promote(s.ctx, messages.PromoteCommand{Job: s.job, Keep: true}) // whose reply ends the run
	default:
		err = s.CloseInput(s.ctx, s.job)
	}
	var coded *messages.Error
	if s.ctx.Err() == nil && errors.As(err, &coded) && coded.Code != messages.JobFinished && coded.Code != messages.NoInput {
		s.abort(fmt.Errorf("the input cannot be passed on: %w", err))
	}
}

// copy types what is read, as fast as the command takes it, to its end, or to the detach
// keys where somebody sits who may come back: in the daemon.
func (s *terminalInput) copy() (left bool, err error) {
	keys, sits := terminal.DetachScanner{}, cli.IsTerminal(s.main.In)
	if _, away := s.host.(*daemonHost); away && sits {
		keys.Keys = s.flags.leave
	}
	buf := make([]byte, out.CopyBuffer)
	for {
		n, err := s.main.In.Read(buf)
		typed, left := keys.Filter(buf[:n])
		if len(typed) > 0 {
			if _, err := s.Input(s.ctx, messages.WriteInput{Job: s.job, Data: bytes.Clone(typed)}); err != nil {
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

// follow gives the terminal of the command the size of ours, whenever that changes.
func (s *terminalInput) follow(sizes <-chan os.Signal) {
	last := s.request.Terminal
	for {
		if now := cli.TerminalSize(s.main); now != last {
			last = now
			_ = s.Resize(s.ctx, messages.ResizeTerminal{Job: s.job, Size: now}) // refused: it has ended
		}
		select {
		case <-sizes:
		case <-s.ctx.Done():
			return
		}
	}
}

// daemonInput asks the daemon.
type daemonInput struct {
	*client.Client
	host *daemonHost
}

func (r daemonInput) begun(ctx context.Context, id messages.JobID) error {
	if err := r.host.await(ctx); err != nil {
		return err
	}
	return r.host.started(ctx, id)
}

// begun waits until the job takes input, or will not any more.
func (l localHost) begun(ctx context.Context, id messages.JobID) error {
	facts, err := l.node.Subscribe(context.Background(), messages.Subscribe{Filter: messages.Filter{Job: id}})
	if err != nil {
		return err
	}
	defer func() { _ = facts.Close() }() // an open one would delay the end of the node
	for {
		m, err := facts.Next(ctx)
		if err != nil {
			return err
		}
		n, _ := m.(messages.Notification)
		if of, ok := n.Fact.(messages.CommandFact); ok && of.Record().State != messages.Queued && of.Record().State != messages.Starting {
			return nil
		}
	}
}

func (l localHost) Input(ctx context.Context, r messages.WriteInput) (int64, error) {
	reply, err := l.node.Ask(ctx, r)
	if err == nil {
		err = messages.Refusal(reply)
	}
	written, _ := reply.(messages.InputWritten)
	return written.Through, err
}

func (l localHost) CloseInput(ctx context.Context, id messages.JobID) error {
	return l.does(ctx, messages.CloseInput{Job: id})
}

func (l localHost) Resize(ctx context.Context, r messages.ResizeTerminal) error {
	return l.does(ctx, r)
}

func (l localHost) does(ctx context.Context, r messages.Refusable) error {
	reply, err := l.node.Ask(ctx, r)
	if err == nil {
		err = messages.Refusal(reply)
	}
	return err
}
