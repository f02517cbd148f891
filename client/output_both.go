package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"slices"
	"time"

	"troupe/internal/api"
	"troupe/messages"
)

// RangeBoth selects a part of two streams.
type RangeBoth struct {
	Stdout, Stderr int64 // the first bytes
	Since          time.Time
	Follow         bool
}

// OutputBoth passes stdout and stderr of a job with separate streams to show, in the order in
// which they arrived. show must not keep the bytes. OutputBoth comes back to the next daemon, at
// the same bytes. It returns the skipped ranges.
func (c *Client) OutputBoth(ctx context.Context, id messages.JobID, what RangeBoth, show func(messages.Stream, []byte) error) ([]messages.OutputGap, error) {
	b := &bothReader{what: what, show: show, at: map[messages.Stream]int64{messages.Stdout: what.Stdout, messages.Stderr: what.Stderr}}
	for {
		err := b.once(ctx, c, id)
		if err == nil || b.failed != nil || c.single {
			return b.gaps, err
		}
		if err = b.away.Next(ctx, err); err != nil {
			return b.gaps, err
		}
	}
}

// bothReader reads two streams, over the daemons that serve them.
type bothReader struct {
	what   RangeBoth
	show   func(messages.Stream, []byte) error
	at     map[messages.Stream]int64 // next bytes
	placed bool                      // the daemon says where each stream begins, and names gaps in their places
	failed error                     // of show
	gaps   []messages.OutputGap
	away   Absence
	buf    []byte
}

// once reads one reply to its end.
func (b *bothReader) once(ctx context.Context, c *Client, id messages.JobID) error {
	numbers := map[string]int64{"offset_stdout": b.at[messages.Stdout], "offset_stderr": b.at[messages.Stderr]}
	reply, err := c.output(ctx, id, api.BothStreams, numbers, b.what.Follow, b.what.Since)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	b.away.back = time.Now()
	var stdout, stderr int64
	if n, _ := fmt.Sscanf(reply.Header.Get(api.OffsetHeader), "%d,%d", &stdout, &stderr); n == 2 {
		b.at[messages.Stdout], b.at[messages.Stderr], b.what.Since, b.placed = stdout, stderr, time.Time{}, true
	}
	head := make([]byte, api.FrameHead)
	for {
		_, err := io.ReadFull(reply.Body, head)
		if errors.Is(err, io.EOF) {
			return b.ended(reply)
		}
		if err != nil {
			return err
		}
		n := int(binary.BigEndian.Uint32(head[4:]))
		if n > maxFrame {
			return fmt.Errorf("the daemon sent a frame of %d bytes; at most %d are allowed", n, maxFrame)
		}
		b.buf = slices.Grow(b.buf[:0], n)[:n]
		if _, err := io.ReadFull(reply.Body, b.buf); err != nil {
			return io.ErrUnexpectedEOF
		}
		if err := b.take(messages.Stream(head[0]), head[1] == api.GapFrame); err != nil {
			return err
		}
	}
}

// take takes one frame: bytes, or a gap.
func (b *bothReader) take(stream messages.Stream, gap bool) error {
	switch {
	case !gap:
		b.at[stream] += int64(len(b.buf))
		b.failed = b.show(stream, b.buf)
		return b.failed
	case len(b.buf) != api.GapSize:
		return fmt.Errorf("the daemon sent a gap of %d bytes instead of %d", len(b.buf), api.GapSize)
	}
	g := messages.OutputGap{From: int64(binary.BigEndian.Uint64(b.buf)), To: int64(binary.BigEndian.Uint64(b.buf[8:]))} //nolint:gosec // offsets
	b.gaps, b.at[stream] = append(b.gaps, g), g.To
	return nil
}

// ended takes the gaps of an older daemon, which names them at the end.
func (b *bothReader) ended(reply *http.Response) error {
	if b.placed {
		return nil
	}
	gaps, err := gapsOf(reply)
	b.gaps = append(b.gaps, gaps...)
	return err
}

// maxFrame bounds a frame, in bytes. The daemon sends some tens of kilobytes.
const maxFrame = 1 << 20
