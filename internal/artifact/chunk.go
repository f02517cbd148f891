package artifact

import (
	"bytes"
	"context"
	"io"
)

// chunk is how many bytes of a file a scan holds in memory.
const chunk = 64 << 10

// CountLines counts the lines of the size bytes of r. A last line needs no newline.
func CountLines(ctx context.Context, r io.ReaderAt, size int64) (int64, error) {
	var ends int64
	open := false
	err := eachChunk(ctx, r, 0, size, func(p []byte) bool {
		ends += int64(bytes.Count(p, newline))
		open = p[len(p)-1] != '\n'
		return true
	})
	if open {
		ends++
	}
	return ends, err
}

// nextLine returns where the line that begins at from ends; to if it has no newline.
func nextLine(r io.ReaderAt, from, to int64) (int64, error) {
	at, found := from, false
	err := eachChunk(context.Background(), r, from, to, func(p []byte) bool {
		i := bytes.IndexByte(p, '\n') + 1
		if found = i > 0; !found {
			i = len(p)
		}
		at += int64(i)
		return !found
	})
	return at, err
}

// lastLine returns where the last line of the size bytes of r begins.
func lastLine(r io.ReaderAt, size int64) (int64, error) {
	buf := make([]byte, min(chunk, size))
	for to := max(0, size-1); to > 0; {
		from := max(0, to-int64(len(buf)))
		n, err := r.ReadAt(buf[:to-from], from)
		if int64(n) < to-from {
			return 0, unexpected(err)
		}
		if i := bytes.LastIndexByte(buf[:n], '\n'); i >= 0 {
			return from + int64(i) + 1, nil
		}
		to = from
	}
	return 0, nil
}

// eachChunk calls look with consecutive pieces of [from, to) of r while look returns
// true.
func eachChunk(ctx context.Context, r io.ReaderAt, from, to int64, look func(p []byte) bool) error {
	if from >= to {
		return nil
	}
	buf := make([]byte, min(chunk, to-from))
	for from < to {
		if err := ctx.Err(); err != nil {
			return err
		}
		n, err := r.ReadAt(buf[:min(int64(len(buf)), to-from)], from)
		if n == 0 {
			return unexpected(err)
		}
		if !look(buf[:n]) {
			return nil
		}
		from += int64(n)
	}
	return nil
}

// unexpected returns the error of a read that got fewer bytes than it must.
func unexpected(err error) error {
	if err == nil || err == io.EOF {
		return io.ErrUnexpectedEOF
	}
	return err
}
