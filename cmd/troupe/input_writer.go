package main

import (
	"errors"
	"io"

	"troupe/internal/cli/out"
	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// inputWriter writes to the input of a job.
type inputWriter struct {
	*daemonCommand
	job     messages.JobID
	through int64
}

// endOfLine is what the key enter sends: on a terminal CR, which becomes LF where the
// program has not asked for keys as they are. If the job is not to be found, writing says
// so.
func (w *inputWriter) endOfLine() string {
	if job, err := w.Job(w.ctx, w.job); err == nil && job.Terminal != (messages.Terminal{}) {
		return "\r"
	}
	return "\n"
}

// Write returns when the kernel has all of it.
func (w *inputWriter) write(b []byte) error {
	for len(b) > 0 {
		piece := b[:min(len(b), messages.MaxInput)]
		through, err := w.Input(w.ctx, messages.WriteInput{Job: w.job, Data: piece})
		if err != nil {
			return err
		}
		w.through, b = through, b[len(piece):]
	}
	return nil
}

// copy passes on what it reads, as fast as the job takes it.
func (w *inputWriter) copy(from io.Reader) error {
	buf := make([]byte, out.CopyBuffer)
	for {
		n, err := from.Read(buf)
		if werr := w.write(buf[:n]); werr != nil {
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
func (w *inputWriter) finish(eof bool, err error) error {
	if err == nil && eof {
		err = w.CloseInput(w.ctx, w.job)
	}
	if err == nil && w.json {
		return w.object(wire.Written{V: wire.Version, Through: w.through})
	}
	return err
}
