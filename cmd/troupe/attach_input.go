package main

import (
	"bytes"
	"context"
	"errors"
	"io"

	"troupe/internal/cli/out"
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
	keys := lineEditor{leave: s.detachKeys, raw: !s.typed, echo: func(b string) { _, _ = s.screen.err.Write([]byte(b)) }}
	through := detachScanner{keys: s.detachKeys}
	buf := make([]byte, out.CopyBuffer)
	for {
		n, err := s.main.In.Read(buf)
		acts := []keyAct{}
		if s.pty {
			typed, left := through.filter(buf[:n])
			acts = append(acts, keyAct{bytes: bytes.Clone(typed)}, keyAct{leave: left})
		} else {
			acts = keys.take(buf[:n])
		}
		for _, act := range acts {
			if err := s.act(ctx, job, act); err != nil || act.leave {
				return err
			}
		}
		switch {
		case errors.Is(err, io.EOF) && !s.typed:
			_ = s.at.Say(ctx, wire.AttachRequest{Kind: wire.AttachCloseInput})
			ctx, done := out.WithStdoutReader(ctx, s.main)
			defer done()
			<-ctx.Done() // the job goes on, and is shown to who reads
			return context.Cause(ctx)
		case err != nil:
			awaitHangup(ctx, err)
			return out.Unreadable("input", "the input", err)
		}
	}
}

func (s *attachSession) act(ctx context.Context, job messages.JobID, act keyAct) error {
	switch {
	case act.interrupt:
		return s.Signal(ctx, messages.SignalCommand{Job: job, Signal: "INT", Tree: true})
	case act.end:
		return sent(ctx, s.at.Say(ctx, wire.AttachRequest{Kind: wire.AttachCloseInput}))
	case len(act.bytes) > 0:
		return s.write(ctx, act.bytes)
	}
	return nil
}

// Write sends input, a piece for each answer that is awaited at most. What nobody
// types waits for the job to read; who types is told, and may still leave.
func (s *attachSession) write(ctx context.Context, b []byte) error {
	for len(b) > 0 {
		piece := b[:min(len(b), wire.MaxAttachInput)]
		switch {
		case s.typed && !s.window.try():
			s.screen.notef("the job does not read; this was not sent")
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
