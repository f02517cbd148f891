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

// Range says what of an output is wanted.
type Range struct {
	Stream messages.Stream
	Offset int64
	Limit  int64     // bytes; 0: all
	Follow bool      // wait for what comes, until nobody can write any more
	Since  time.Time // what was written from then on, instead of Offset
}

// Output is a raw output. It ends with io.EOF, or with io.ErrUnexpectedEOF when
// the connection broke: nothing is missing in silence. Close it.
type Output struct {
	reply *http.Response
	// Size is what the stream held when the reply began.
	Size int64
}

// Output reads the bytes of one stream of a job. ctx ends it, too.
func (c *Client) Output(ctx context.Context, id messages.JobID, what Range) (*Output, error) {
	reply, err := c.output(ctx, id, what.Stream.String(), map[string]int64{"offset": what.Offset, "limit": what.Limit}, what.Follow, what.Since)
	if err != nil {
		return nil, err
	}
	size, err := strconv.ParseInt(reply.Header.Get(wire.SizeHeader), 10, 64)
	if err != nil {
		_ = reply.Body.Close()
		return nil, fmt.Errorf("the daemon does not tell the size of the output: %w", err)
	}
	return &Output{reply: reply, Size: size}, nil
}

// output asks for the bytes of one stream or both, from where numbers say.
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

// Next is the byte to go on from. It and Gaps are known behind io.EOF.
func (o *Output) Next() (int64, error) {
	text := o.reply.Trailer.Get(wire.NextTrailer)
	if text == "" {
		return 0, io.ErrUnexpectedEOF
	}
	return strconv.ParseInt(text, 10, 64)
}

// Gaps are the ranges that were left out, because they were not kept.
func (o *Output) Gaps() ([]messages.OutputGap, error) {
	text := o.reply.Trailer.Get(wire.GapsTrailer)
	if text == "" {
		return nil, nil
	}
	var gaps []messages.OutputGap
	for _, part := range strings.Split(text, ",") {
		var g messages.OutputGap
		if _, err := fmt.Sscanf(part, "%d-%d", &g.From, &g.To); err != nil {
			return nil, fmt.Errorf("%q is no gap: %w", part, err)
		}
		gaps = append(gaps, g)
	}
	return gaps, nil
}

// RangeBoth says what of two streams is wanted.
type RangeBoth struct {
	Stdout, Stderr int64 // the bytes to begin with
	Since          time.Time
	Follow         bool
}

// OutputBoth reads stdout and stderr of a job that keeps them apart, in the order in which
// they arrived, and gives them to show, which may not keep the bytes. It returns what
// was left out, because it was not kept, of one stream behind the other.
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
			return nil, fmt.Errorf("the daemon sent a frame of %d bytes, and the largest has %d", n, maxFrame)
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

// maxFrame bounds a frame: the daemon's have some tens of kilobytes.
const maxFrame = 1 << 20

func sinceQuery(query url.Values, since time.Time) {
	if !since.IsZero() {
		query.Set("since", since.UTC().Format(time.RFC3339Nano))
	}
}

// TextView says which bounded view of an output is wanted, as text: a page of Limit
// lines from Line, the first Head lines, the last Tail lines, as many of both, or
// with none of these the end of it. Of Both streams there is the end of what is behind
// a byte of stdout and one of stderr, in the order in which it arrived.
type TextView struct {
	Stream      messages.Stream
	Both        bool
	Behind      [2]int64
	Line, Limit int64
	Head, Tail  int64
	Bytes       int64
	Raw         bool // with terminal control sequences
}

// Text reads a view.
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
