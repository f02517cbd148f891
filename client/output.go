package client

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"time"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// Range selects a part of an output.
type Range struct {
	Stream messages.Stream
	Offset int64
	Limit  int64     // bytes; 0: all
	Follow bool      // wait for more until no process can write
	Since  time.Time // from the bytes written at that time on, instead of Offset
}

// Output is the raw bytes of a stream. It ends with io.EOF, or with io.ErrUnexpectedEOF if
// the connection broke. Close it.
type Output struct {
	reply *http.Response
	// Size is the size of the stream when the reply began, in bytes.
	Size int64
}

// Output reads the bytes of one stream of a job. The end of ctx ends it too.
func (c *Client) Output(ctx context.Context, id messages.JobID, what Range) (*Output, error) {
	reply, err := c.output(ctx, id, what.Stream.String(), map[string]int64{"offset": what.Offset, "limit": what.Limit}, what.Follow, what.Since)
	if err != nil {
		return nil, err
	}
	size, err := strconv.ParseInt(reply.Header.Get(wire.SizeHeader), 10, 64)
	if err != nil {
		_ = reply.Body.Close()
		return nil, fmt.Errorf("the daemon's reply has no size of the output: %w", err)
	}
	return &Output{reply: reply, Size: size}, nil
}

// output requests the bytes of one stream or both; numbers hold the offsets and limits.
func (c *Client) output(ctx context.Context, id messages.JobID, stream string, numbers map[string]int64, follow bool, since time.Time) (*http.Response, error) {
	query := url.Values{"stream": {stream}}
	for name, n := range numbers {
		if n != 0 {
			query.Set(name, strconv.FormatInt(n, 10))
		}
	}
	if follow {
		query.Set("follow", "true")
	}
	sinceQuery(query, since)
	r, err := c.request(ctx, http.MethodGet, of(id, "output"), query, nil)
	if err != nil {
		return nil, err
	}
	return c.do(r)
}

// Read implements io.Reader.
func (o *Output) Read(p []byte) (int, error) { return o.reply.Body.Read(p) }

// Close implements io.Closer.
func (o *Output) Close() error { return o.reply.Body.Close() }

// Next returns the byte after the last one. Next and Gaps are valid after io.EOF.
func (o *Output) Next() (int64, error) {
	text := o.reply.Trailer.Get(wire.NextTrailer)
	if text == "" {
		return 0, io.ErrUnexpectedEOF
	}
	return strconv.ParseInt(text, 10, 64)
}

// Gaps returns the ranges that were skipped, because their bytes were not kept.
func (o *Output) Gaps() ([]messages.OutputGap, error) {
	text := o.reply.Trailer.Get(wire.GapsTrailer)
	if text == "" {
		return nil, nil
	}
	var gaps []messages.OutputGap
	for _, part := range strings.Split(text, ",") {
		var g messages.OutputGap
		if _, err := fmt.Sscanf(part, "%d-%d", &g.From, &g.To); err != nil {
			return nil, fmt.Errorf("invalid gap %q: %w", part, err)
		}
		gaps = append(gaps, g)
	}
	return gaps, nil
}

// RangeBoth selects a part of two streams.
type RangeBoth struct {
	Stdout, Stderr int64 // the first bytes
	Since          time.Time
	Follow         bool
}

// OutputBoth passes stdout and stderr of a job with separate streams to show, in the order in
// which they arrived. show must not keep the bytes. OutputBoth returns the skipped ranges,
// all of one stream before those of the other.
func (c *Client) OutputBoth(ctx context.Context, id messages.JobID, what RangeBoth, show func(messages.Stream, []byte) error) ([]messages.OutputGap, error) {
	reply, err := c.output(ctx, id, wire.BothStreams, map[string]int64{"offset_stdout": what.Stdout, "offset_stderr": what.Stderr}, what.Follow, what.Since)
	if err != nil {
		return nil, err
	}
	defer reply.Body.Close()
	head := make([]byte, wire.FrameHead)
	var buf []byte
	for {
		_, err := io.ReadFull(reply.Body, head)
		if errors.Is(err, io.EOF) {
			return (&Output{reply: reply}).Gaps()
		}
		if err != nil {
			return nil, err
		}
		n := int(binary.BigEndian.Uint32(head[4:]))
		if n > maxFrame {
			return nil, fmt.Errorf("the daemon sent a frame of %d bytes; at most %d are allowed", n, maxFrame)
		}
		buf = slices.Grow(buf[:0], n)[:n]
		if _, err := io.ReadFull(reply.Body, buf); err != nil {
			return nil, io.ErrUnexpectedEOF
		}
		if err := show(messages.Stream(head[0]), buf); err != nil {
			return nil, err
		}
	}
}

// maxFrame bounds a frame, in bytes. The daemon sends some tens of kilobytes.
const maxFrame = 1 << 20

func sinceQuery(query url.Values, since time.Time) {
	if !since.IsZero() {
		query.Set("since", since.UTC().Format(time.RFC3339Nano))
	}
}

// TextView selects a bounded view of an output as text: a page of Limit lines from Line, the
// first Head lines, the last Tail lines, both, or without these the end. Both selects the end
// of stdout and stderr, each from a byte on, in the order in which they arrived.
type TextView struct {
	Stream      messages.Stream
	Both        bool
	Behind      [2]int64 // bytes of stdout and stderr from which Both begins
	Line, Limit int64
	Head, Tail  int64
	Bytes       int64
	Raw         bool // with terminal control sequences
}

// Text reads a view of an output.
func (c *Client) Text(ctx context.Context, id messages.JobID, what TextView) (wire.Page, error) {
	query := url.Values{"stream": {what.Stream.String()}}
	if what.Both {
		query.Set("stream", wire.BothStreams)
	}
	for name, n := range map[string]int64{
		"line": what.Line, "limit": what.Limit, "head": what.Head, "tail": what.Tail, "bytes": what.Bytes,
		"offset_stdout": what.Behind[0], "offset_stderr": what.Behind[1],
	} {
		if n != 0 {
			query.Set(name, strconv.FormatInt(n, 10))
		}
	}
	if what.Raw {
		query.Set("raw", "true")
	}
	return ask[wire.Page](ctx, c, http.MethodGet, of(id, "text"), query, nil)
}

// Screen reads what the terminal of a job shows. A job without one is refused with the code
// unsupported.
func (c *Client) Screen(ctx context.Context, id messages.JobID) (wire.Screen, error) {
	return ask[wire.Screen](ctx, c, http.MethodGet, of(id, "screen"), nil, nil)
}
