package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/internal/api"
	"troupe/messages"
)

// RangeBoth selects a part of two streams, or of one.
type RangeBoth struct {
	From   map[messages.Stream]int64 // the first byte of each stream, of one with Times; nil: all of stdout and stderr
	Limit  int64                     // bytes of one stream; 0: all
	Since  time.Time                 // instead of From
	Follow bool
	Times  bool // ask when the bytes arrived
	Gaps   bool // pass ranges that were not kept to show, in their places
}

// Arrived is a part of a stream, or a gap in it.
type Arrived struct {
	Stream messages.Stream
	At     time.Time // within a second of it; zero: not known, or not asked for
	Bytes  []byte
	Gap    messages.OutputGap // instead of Bytes; the zero value: none
}

// OutputBoth passes stdout and stderr of a job with separate streams to show, in the order in
// which they arrived, or one stream with the times of its bytes. show must not keep the bytes.
// OutputBoth comes back to the next daemon, at the same bytes. It returns the skipped ranges.
func (c *Client) OutputBoth(ctx context.Context, id messages.JobID, what RangeBoth, show func(Arrived) error) ([]messages.OutputGap, error) {
	b := &bothReader{what: what, show: show, at: maps.Clone(what.From), times: map[messages.Stream]time.Time{}}
	if len(b.at) == 0 {
		b.at = map[messages.Stream]int64{messages.Stdout: 0, messages.Stderr: 0}
	}
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

// bothReader reads two streams or one, over the daemons that serve them.
type bothReader struct {
	what   RangeBoth
	show   func(Arrived) error
	at     map[messages.Stream]int64 // next bytes
	times  map[messages.Stream]time.Time
	read   int64 // bytes and gaps so far, of one stream
	placed bool  // the daemon says where each stream begins, and names gaps in their places
	failed error // of show
	gaps   []messages.OutputGap
	away   Absence
	buf    []byte
}

// once reads one reply to its end.
func (b *bothReader) once(ctx context.Context, c *Client, id messages.JobID) error {
	reply, err := b.open(ctx, c, id)
	if err != nil {
		return err
	}
	defer reply.Body.Close()
	b.away.back = time.Now()
	clear(b.times)
	b.begin(reply.Header.Get(api.OffsetHeader))
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
		if err := b.take(messages.Stream(head[0]), head[1]); err != nil {
			return err
		}
	}
}

// open requests the rest of the streams.
func (b *bothReader) open(ctx context.Context, c *Client, id messages.JobID) (*http.Response, error) {
	query, numbers := url.Values{"stream": {api.BothStreams}}, map[string]int64{}
	for stream, at := range b.at {
		if len(b.at) > 1 {
			numbers["offset_"+stream.String()] = at
			continue
		}
		query.Set("stream", stream.String())
		numbers["offset"] = at
		if b.what.Limit > 0 {
			numbers["limit"] = max(b.what.Limit-b.read, 1)
		}
	}
	if b.what.Times {
		query.Set("times", "true")
	}
	return c.outputQuery(ctx, id, query, numbers, b.what.Follow, b.what.Since)
}

// begin takes the offsets with which a reply begins.
func (b *bothReader) begin(header string) {
	texts, order := strings.Split(header, ","), slices.Sorted(maps.Keys(b.at))
	if len(texts) != len(order) {
		return
	}
	for i, stream := range order {
		at, err := strconv.ParseInt(texts[i], 10, 64)
		if err != nil {
			return
		}
		b.at[stream] = at
	}
	b.what.Since, b.placed = time.Time{}, true
}

// take takes one frame: bytes, a gap or a time.
func (b *bothReader) take(stream messages.Stream, kind byte) error {
	switch {
	case kind == api.TimeFrame && len(b.buf) == api.TimeSize:
		b.times[stream] = time.Time{}
		if ms := binary.BigEndian.Uint64(b.buf); ms > 0 {
			b.times[stream] = time.UnixMilli(int64(ms)) //nolint:gosec // a time
		}
		return nil
	case kind != api.GapFrame:
		b.at[stream] += int64(len(b.buf))
		b.read += int64(len(b.buf))
		b.failed = b.show(Arrived{Stream: stream, At: b.times[stream], Bytes: b.buf})
		return b.failed
	case len(b.buf) != api.GapSize:
		return fmt.Errorf("the daemon sent a gap of %d bytes instead of %d", len(b.buf), api.GapSize)
	}
	g := messages.OutputGap{From: int64(binary.BigEndian.Uint64(b.buf)), To: int64(binary.BigEndian.Uint64(b.buf[8:]))} //nolint:gosec // offsets
	b.gaps, b.at[stream], b.read = append(b.gaps, g), g.To, b.read+g.To-g.From
	if b.what.Gaps {
		b.failed = b.show(Arrived{Stream: stream, At: b.times[stream], Gap: g})
	}
	return b.failed
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
