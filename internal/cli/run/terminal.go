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

// With --pty our terminal is raw, and output and keys pass through it unchanged. Input
// that is not from a terminal is copied to the command, followed by the end-of-file
// key.

// inputSender sends input to a job, after begun has returned.
type inputSender interface {
	begun(ctx context.Context, id messages.JobID) error
	Input(ctx context.Context, r messages.WriteInput) (int64, error)
	CloseInput(ctx context.Context, id messages.JobID) error
	Resize(ctx context.Context, r messages.ResizeTerminal) error
}

// terminalInput connects our terminal to that of the command.
type terminalInput struct {
	*foreground
	inputSender
	ctx context.Context
}

// attachTerminal makes our terminal raw before any output. leave restores it and ends
// the display; cut starts a new line there. pass forwards keys and sizes; call it after
// the submit.
func (g *foreground) attachTerminal(ctx context.Context) (pass func(), leave func(cut bool)) {
	if g.request.Terminal == (messages.Terminal{}) || g.request.Mode.Background() {
		return func() {}, func(bool) {}
	}
	t, _ := g.host.(inputSender)
	if h, ok := g.host.(*daemonHost); ok {
		t = &daemonInput{Client: h.client, host: h}
	}
	ctx, cancel := context.WithCancel(ctx)
	s := &terminalInput{g, t, ctx}
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
		_, err = s.host.(*daemonHost).client.Promote(s.ctx, messages.PromoteCommand{Job: s.job, Keep: true}) // the reply ends the run
	default:
		err = s.CloseInput(s.ctx, s.job)
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

// follow sends each new size of our terminal to that of the command.
func (s *terminalInput) follow(sizes <-chan os.Signal) {
	last := s.request.Terminal
	for {
		if now := cli.TerminalSize(s.main); now != last {
			last = now
			_ = s.Resize(s.ctx, messages.ResizeTerminal{Job: s.job, Size: now}) // fails only if the job has ended
		}
		select {
		case <-sizes:
		case <-s.ctx.Done():
			return
		}
	}
}

// daemonInput sends input through the daemon, in one goroutine.
type daemonInput struct {
	*client.Client
	host *daemonHost
	to   *connect.InputWriter
}

// Input implements inputSender.
func (r *daemonInput) Input(ctx context.Context, w messages.WriteInput) (int64, error) {
	if r.to == nil {
		r.to = r.host.writer(ctx, w.Job)
	}
	err := r.to.Write(w.Data)
	return r.to.Through, err
}

func (r *daemonInput) begun(ctx context.Context, id messages.JobID) error {
	if err := r.host.await(ctx); err != nil {
		return err
	}
	return r.host.started(ctx, id)
}

// begun waits until the job has started or ended.
func (l localHost) begun(ctx context.Context, id messages.JobID) error {
	facts, err := l.node.Subscribe(context.Background(), messages.Subscribe{Filter: messages.Filter{Job: id}})
	if err != nil {
		return err
	}
	defer func() { _ = facts.Close() }() // an open channel would delay the end of the node
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
