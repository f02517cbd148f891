package connect

import (
	"errors"
	"io"

	"troupe/internal/cli/out"
	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// InputWriter writes to the input of a job.
type InputWriter struct {
	*Command
	ID      messages.JobID
	Through int64
}

// EndOfLine is what the key enter sends: on a terminal CR, which becomes LF where the
// program has not asked for keys as they are. If the job is not to be found, writing says
// so.
func (w *InputWriter) EndOfLine() string {
	if job, err := w.Job(w.Ctx, w.ID); err == nil && job.Terminal != (messages.Terminal{}) {
		return "\r"
	}
	return "\n"
}

// Write returns when the kernel has all of it.
func (w *InputWriter) Write(b []byte) error {
	for len(b) > 0 {
		piece := b[:min(len(b), messages.MaxInput)]
		through, err := w.Input(w.Ctx, messages.WriteInput{Job: w.ID, Data: piece})
		if err != nil {
			return err
		}
		w.Through, b = through, b[len(piece):]
	}
	return nil
}

// Copy passes on what it reads, as fast as the job takes it.
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

// Finish ends the input, if that was asked for, and says how far it came.
func (w *InputWriter) Finish(eof bool, err error) error {
	if err == nil && eof {
		err = w.CloseInput(w.Ctx, w.ID)
	}
	if err == nil && w.JSON {
		return w.Object(wire.Written{V: wire.Version, Through: w.Through})
	}
	return err
}
