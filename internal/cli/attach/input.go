package attach

import (
	"bytes"
	"context"
	"errors"
	"io"

	"troupe/internal/cli/out"
	"troupe/internal/cli/terminal"
	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// forwardInput passes on what is typed until the detach keys; what is no terminal, to
// its end.
func (s *attachSession) forwardInput(ctx context.Context, job messages.JobID) error {
	if !s.typed { // it is read when it can go somewhere
		select {
		case <-s.lease:
		case <-ctx.Done():
			return ctx.Err()
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
			_ = s.at.Say(ctx, wire.AttachRequest{Kind: wire.AttachCloseInput})
			ctx, done := out.WithStdoutReader(ctx, s.Main)
			defer done()
			<-ctx.Done() // the job goes on, and is shown to who reads
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
		return s.Signal(ctx, messages.SignalCommand{Job: job, Signal: "INT", Tree: true})
	case act.End:
		return sent(ctx, s.at.Say(ctx, wire.AttachRequest{Kind: wire.AttachCloseInput}))
	case len(act.Bytes) > 0:
		return s.write(ctx, act.Bytes)
	}
	return nil
}

// write sends input, a piece for each answer that is awaited at most. What nobody
// types waits for the job to read; who types is told, and may still leave.
func (s *attachSession) write(ctx context.Context, b []byte) error {
	for len(b) > 0 {
		piece := b[:min(len(b), wire.MaxAttachInput)]
		switch {
		case s.typed && !s.window.try():
			s.screen.Notef("the job does not read; this was not sent")
			return nil
		case !s.typed && !s.window.take(ctx):
			<-ctx.Done() // the job goes on, and is shown
			return ctx.Err()
		}
		if err := sent(ctx, s.at.Write(ctx, piece)); err != nil {
			return err
		}
		b = b[len(piece):]
	}
	return nil
}

// sent is what became of something that was said. Where the connection has broken, who
// hears finds what else came, and how it ended: he is waited for.
func sent(ctx context.Context, err error) error {
	if err == nil {
		return nil
	}
	<-ctx.Done()
	return ctx.Err()
}
