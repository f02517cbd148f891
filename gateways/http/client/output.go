package client

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"

	"troupe/gateways/http/wire"
	"troupe/messages"
)

// Range says what of an output is wanted.
type Range struct {
	Stream messages.Stream
	Offset int64
	Limit  int64 // bytes; 0: all
	Follow bool  // wait for what comes, until nobody can write any more
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
	query := url.Values{"stream": {what.Stream.String()}}
	for name, n := range map[string]int64{"offset": what.Offset, "limit": what.Limit} {
		if n != 0 {
			query.Set(name, strconv.FormatInt(n, 10))
		}
	}
	if what.Follow {
		query.Set("follow", "true")
	}
	r, err := c.request(ctx, http.MethodGet, of(id, "output"), query, nil)
	if err != nil {
		return nil, err
	}
	reply, err := c.do(r)
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

// Look says which bounded view of an output is wanted, as text: a page of Limit
// lines from Line, the first Head lines, the last Tail lines, as many of both, or
// with none of these the end of it.
type Look struct {
	Stream      messages.Stream
	Line, Limit int64
	Head, Tail  int64
	Bytes       int64
	Raw         bool // with terminal control sequences
}

// Text reads a view.
func (c *Client) Text(ctx context.Context, id messages.JobID, what Look) (wire.Page, error) {
	query := url.Values{"stream": {what.Stream.String()}}
	for name, n := range map[string]int64{"line": what.Line, "limit": what.Limit, "head": what.Head, "tail": what.Tail, "bytes": what.Bytes} {
		if n != 0 {
			query.Set(name, strconv.FormatInt(n, 10))
		}
	}
	if what.Raw {
		query.Set("raw", "true")
	}
	return ask[wire.Page](ctx, c, http.MethodGet, of(id, "text"), query, nil)
}
