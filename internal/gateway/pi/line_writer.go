package pi

import (
	"bytes"
	"context"
	"encoding/json"
	"io"
)

// lineWriter writes records, each as one line. It holds one line at a time: a sender waits until
// the client reads. Only its own goroutine can be stuck in a write, so that a client that reads
// nothing delays no end.
type lineWriter struct {
	lines chan []byte
	over  chan struct{} // closed when it writes no more
	err   error         // why, once over is closed; nil: after the last line
}

// newLineWriter starts a writer. failed is called if the client cannot be written to.
func newLineWriter(out io.Writer, failed func(error)) *lineWriter {
	w := &lineWriter{lines: make(chan []byte), over: make(chan struct{})}
	go func() {
		defer close(w.over)
		for line := range w.lines {
			if _, w.err = out.Write(line); w.err != nil {
				failed(w.err)
				return
			}
		}
	}()
	return w
}

// send writes a record before ctx ends.
func (w *lineWriter) send(ctx context.Context, record any) error {
	var line bytes.Buffer
	e := json.NewEncoder(&line)
	e.SetEscapeHTML(false) // no browser reads it
	if err := e.Encode(record); err != nil {
		return err
	}
	select {
	case w.lines <- line.Bytes():
		return nil
	case <-w.over:
		return w.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}

// close returns when the last line is written, or ctx has ended. No sender is left.
func (w *lineWriter) close(ctx context.Context) error {
	close(w.lines)
	select {
	case <-w.over:
		return w.err
	case <-ctx.Done():
		return context.Cause(ctx)
	}
}
