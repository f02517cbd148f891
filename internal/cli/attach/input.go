package attach

import (
	"bytes"
	"context"
	"errors"
	"io"

	"troupe/host"
	"troupe/internal/api"
	"troupe/internal/cli/out"
	"troupe/internal/cli/terminal"
	"troupe/messages"
)

// forwardInput sends stdin to the job, from a terminal until the detach keys, else to its
// end.
func (s *attachSession) forwardInput(ctx context.Context, job messages.JobID) error {
	if !s.typed { // read nothing before the input lease is granted
		select {
		case <-s.lease:
		case <-ctx.Done():
			return ctx.Err()
		}
		if written, err := host.Ask(ctx, s.Host(), messages.WriteInput{Job: job}); err == nil { // it asks how far the input has come
			s.base.Store(written.Through)
		}
	}
	keys := terminal.LineEditor{Leave: s.detachKeys, Raw: !s.typed, Echo: func(b string) { _, _ = s.screen.Err.Write([]byte(b)) }}
	through := terminal.DetachScanner{Keys: s.detachKeys}
	buf := make([]byte, out.CopyBuffer)
	for {
		n, err := s.Main.In.Read(buf)
		acts := []terminal.KeyAct{}
		if s.pty {
			typed, left := through.Filter(buf[:n])
			acts = append(acts, terminal.KeyAct{Bytes: bytes.Clone(typed)}, terminal.KeyAct{Leave: left})
		} else {
			acts = keys.Take(buf[:n])
		}
		for _, act := range acts {
			if err := s.act(ctx, job, act); err != nil || act.Leave {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF) && !s.typed:
			close(s.inputEnd)
			_ = s.at.Say(ctx, api.AttachRequest{Kind: api.AttachCloseInput})
			ctx, done := out.WithStdoutReader(ctx, s.Main)
			defer done()
			<-ctx.Done() // keep showing the job while stdout has a reader
			return context.Cause(ctx)
		case err != nil:
			terminal.AwaitHangup(ctx, err)
			return out.Unreadable("input", "the input", err)
		}
	}
}

func (s *attachSession) act(ctx context.Context, job messages.JobID, act terminal.KeyAct) error {
	switch {
	case act.Interrupt:
		_, err := host.Ask(ctx, s.Host(), messages.SignalCommand{Job: job, Signal: "INT", Tree: true})
		return err
	case act.End:
		return sent(ctx, s.at.Say(ctx, api.AttachRequest{Kind: api.AttachCloseInput}))
	case len(act.Bytes) > 0:
		return s.write(ctx, act.Bytes)
	}
	return nil
}

// write sends input in pieces, as the window allows. If the job does not read, typed input
// is dropped with a note, so that the detach keys still work; other input waits.
func (s *attachSession) write(ctx context.Context, b []byte) error {
	for len(b) > 0 {
		piece := b[:min(len(b), api.MaxAttachInput)]
		switch {
		case s.typed && !s.at.Connected():
			s.screen.Notef("the daemon has ended; this text was not sent")
			return nil
		case s.typed && !s.window.try():
			s.screen.Notef("the job does not read its input; this text was not sent")
			return nil
		case !s.typed && !s.window.take(ctx):
			<-ctx.Done() // keep showing the job
			return ctx.Err()
		}
		if err := sent(ctx, s.at.Write(ctx, piece)); err != nil {
			return err
		}
		b = b[len(piece):]
	}
	return nil
}

// sent handles the error of a send. On a broken connection it waits for ctx: readOutput
// still receives the remaining output and the outcome, and reports them.
func sent(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}
