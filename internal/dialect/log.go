package dialect

import (
	"context"
	"io"

	"troupe/messages"
)

// Log reads a stream of a job as a file, for the duration of one call.
type Log struct {
	Ctx    context.Context //nolint:containedctx // of one call
	Host   Host
	Job    messages.JobID
	Stream messages.Stream
}

// ReadAt implements io.ReaderAt up to the first gap of the stream.
func (l Log) ReadAt(p []byte, off int64) (int, error) {
	n := 0
	for n < len(p) {
		b, err := l.Host.Bytes(l.Ctx, l.Job, l.Stream, off+int64(n), len(p)-n, false)
		if err != nil {
			return n, err
		}
		if len(b.Data) == 0 {
			return n, io.EOF
		}
		n += copy(p[n:], b.Data)
	}
	return n, nil
}

// CopyTo writes the kept bytes among the first size bytes, unchanged.
func (l Log) CopyTo(w io.Writer, size int64) error {
	_, err := Copy(l.Ctx, l.Host, l.Job, l.Stream, 0, size, w, nil)
	return err
}
