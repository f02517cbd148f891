package connect

import (
	"context"
	"errors"
	"io"

	"troupe/client"
	"troupe/host"
	"troupe/internal/cli/out"
	"troupe/messages"
)

// InputWriter writes to the input of a job. Through is the offset that the job's input
// has reached.
type InputWriter struct {
	Ctx     context.Context //nolint:containedctx // lasts for one run of the verb
	Host    host.Host
	ID      messages.JobID
	Through int64
	Known   bool // Through is the job's: the writer goes on there with the next daemon
}

// Send sends one input and takes the offset that it reached.
func (w *InputWriter) Send(r messages.WriteInput) error {
	written, err := host.Ask(w.Ctx, w.Host, r)
	w.Through = written.Through
	return err
}

// Write writes all of b; it returns after the kernel has it.
func (w *InputWriter) Write(b []byte) error {
	for len(b) > 0 {
		piece := b[:min(len(b), messages.MaxInput)]
		written, err := host.Ask(w.Ctx, w.Host, messages.WriteInput{Job: w.ID, Data: piece})
		through, taken := written.Through, int64(len(piece))
		if err != nil && w.Known && client.DaemonLeft(err) {
			lost := err
			if written, err = host.Ask(w.Ctx, w.Host, messages.WriteInput{Job: w.ID}); err == nil { // it asks how far the input has come
				through = written.Through
				if taken = through - w.Through; taken < 0 || taken > int64(len(piece)) { // another client writes, too
					err = lost
				}
			}
		}
		if err != nil {
			return err
		}
		w.Through, w.Known, b = through, true, b[taken:]
	}
	return nil
}

// Copy copies from to the job, as fast as the job reads it.
func (w *InputWriter) Copy(from io.Reader) error {
	buf := make([]byte, out.CopyBuffer)
	for {
		n, err := from.Read(buf)
		if werr := w.Write(buf[:n]); werr != nil {
			return werr
		}
		switch {
		case errors.Is(err, io.EOF):
			return nil
		case err != nil:
			return out.Unreadable("input", "the input", err)
		}
	}
}
