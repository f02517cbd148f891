package connect

import (
	"errors"
	"io"

	"troupe/client"
	"troupe/internal/cli/out"
	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// InputWriter writes to the input of a job. Through is the offset that the job's input
// has reached.
type InputWriter struct {
	*Command
	ID      messages.JobID
	Through int64
	Known   bool // Through is the job's: the writer goes on there with the next daemon
}

// Write writes all of b; it returns after the kernel has it.
func (w *InputWriter) Write(b []byte) error {
	for len(b) > 0 {
		piece := b[:min(len(b), messages.MaxInput)]
		through, err := w.Input(w.Ctx, messages.WriteInput{Job: w.ID, Data: piece})
		taken := int64(len(piece))
		if err != nil && w.Known && client.DaemonLeft(err) {
			lost := err
			if through, err = w.Client.Through(w.Ctx, w.ID); err == nil {
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

// Finish closes the input if eof is set, and prints with --json the offset it reached.
func (w *InputWriter) Finish(eof bool, err error) error {
	if err == nil && eof {
		err = w.CloseInput(w.Ctx, w.ID)
	}
	if err == nil && w.JSON {
		return w.Object(wire.Written{V: wire.Version, Through: w.Through})
	}
	return err
}
