package client

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"troupe/internal/api"
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

// Output is the raw bytes of a stream. It comes back to the next daemon, at the same byte. It
// ends with io.EOF, or with the error of a connection that broke for good. Close it.
type Output struct {
	client *Client
	ctx    context.Context //nolint:containedctx // a reader's Read takes none
	job    messages.JobID
	what   Range // Offset is the next byte
	end    int64 // offset at which reading ends; negative: the end of the stream
	reply  *http.Response
	gaps   []messages.OutputGap
	broken error // of the reply
	over   bool
	away   Absence
	// Size is the size of the stream when the first reply began, in bytes.
	Size int64
}

// Output reads the bytes of one stream of a job. The end of ctx ends it too.
func (c *Client) Output(ctx context.Context, id messages.JobID, what Range) (*Output, error) {
	return returning(ctx, c, func() (*Output, error) {
		o := &Output{client: c, ctx: ctx, job: id, what: what, end: -1}
		if err := o.open(what.Limit); err != nil {
			return nil, err
		}
		var err error
		if o.Size, err = strconv.ParseInt(o.reply.Header.Get(api.SizeHeader), 10, 64); err != nil {
			_ = o.Close()
			return nil, fmt.Errorf("the daemon's reply has no size of the output: %w", err)
		}
		o.bound()
		return o, nil
	})
}

// open requests the bytes from the offset on, at most limit; 0: all.
func (o *Output) open(limit int64) error {
	reply, err := o.client.output(o.ctx, o.job, o.what.Stream.String(), map[string]int64{"offset": o.what.Offset, "limit": limit}, o.what.Follow, o.what.Since)
	if err == nil {
		o.reply = reply
	}
	return err
}

// bound sets where reading begins and ends from the first reply.
func (o *Output) bound() {
	if at, err := strconv.ParseInt(o.reply.Header.Get(api.OffsetHeader), 10, 64); err == nil {
		o.what.Offset, o.what.Since = at, time.Time{}
	}
	if o.what.Limit > 0 && o.what.Limit < math.MaxInt64-o.what.Offset {
		o.end = o.what.Offset + o.what.Limit
	}
	if !o.what.Follow && (o.end < 0 || o.end > o.Size) {
		o.end = max(o.Size, o.what.Offset)
	}
}

// output requests the bytes of one stream or both; numbers hold the offsets and limits.
func (c *Client) output(ctx context.Context, id messages.JobID, stream string, numbers map[string]int64, follow bool, since time.Time) (*http.Response, error) {
	return c.outputQuery(ctx, id, url.Values{"stream": {stream}}, numbers, follow, since)
}

// outputQuery does the same with further parameters.
func (c *Client) outputQuery(ctx context.Context, id messages.JobID, query url.Values, numbers map[string]int64, follow bool, since time.Time) (*http.Response, error) {
	for name, n := range numbers {
		if n != 0 {
			query.Set(name, strconv.FormatInt(n, 10))
		}
	}
	if follow {
		query.Set("follow", "true")
	}
	sinceQuery(query, since)
	path, err := api.PathOf(id)
	if err != nil {
		return nil, err
	}
	r, err := c.request(ctx, http.MethodGet, path+"/output", query, nil)
	if err != nil {
		return nil, err
	}
	r.Header.Set("Prefer", api.Resumable) // an older daemon ignores it
	return c.do(r)
}

// Read implements io.Reader.
func (o *Output) Read(p []byte) (int, error) {
	for !o.over {
		err := o.broken
		if err == nil {
			var n int
			n, err = o.reply.Body.Read(p)
			o.what.Offset += int64(n)
			if n > 0 {
				o.broken = err
				return n, nil
			}
		}
		o.broken = nil
		if errors.Is(err, io.EOF) {
			err = o.replyEnded()
		}
		if err != nil {
			if err = o.again(err); err != nil {
				return 0, err
			}
		}
	}
	return 0, io.EOF
}

// errGap ends a reply before a gap: the next one begins after it.
var errGap = errors.New("a gap follows")

// replyEnded takes the end of a reply. Only a reply without a gap is the last one.
func (o *Output) replyEnded() error {
	next, gaps, err := endOf(o.reply)
	if err != nil {
		return err
	}
	o.gaps, o.what.Offset = append(o.gaps, gaps...), max(next, o.what.Offset)
	if len(gaps) > 0 && (o.end < 0 || o.what.Offset < o.end) {
		return errGap
	}
	o.over = true
	return nil
}

// again opens the next reply after one that has broken, or has ended before a gap.
func (o *Output) again(err error) error {
	_ = o.reply.Body.Close()
	for {
		switch {
		case errors.Is(err, errGap):
		case o.end >= 0 && o.what.Offset >= o.end: // only the end of the reply is missing
			o.over = true
			return nil
		case o.client.single:
			return err
		default:
			if err = o.away.Next(o.ctx, err); err != nil {
				return err
			}
		}
		if err = o.open(max(o.end-o.what.Offset, 0)); err == nil {
			o.away.back = time.Now()
			return nil
		}
	}
}

// Close implements io.Closer.
func (o *Output) Close() error { return o.reply.Body.Close() }

// Next returns the byte after the last one, once Read has returned io.EOF.
func (o *Output) Next() (int64, error) {
	if !o.over {
		return 0, io.ErrUnexpectedEOF
	}
	return o.what.Offset, nil
}

// Gaps returns the ranges skipped so far, whose bytes were not kept.
func (o *Output) Gaps() ([]messages.OutputGap, error) { return o.gaps, nil }

// endOf returns the next offset and the gaps from the trailers of a reply.
func endOf(reply *http.Response) (next int64, gaps []messages.OutputGap, err error) {
	text := reply.Trailer.Get(api.NextTrailer)
	if text == "" {
		return 0, nil, io.ErrUnexpectedEOF
	}
	if next, err = strconv.ParseInt(text, 10, 64); err == nil {
		gaps, err = gapsOf(reply)
	}
	return next, gaps, err
}

// gapsOf returns the gaps from the trailer of a reply.
func gapsOf(reply *http.Response) (gaps []messages.OutputGap, err error) {
	text := reply.Trailer.Get(api.GapsTrailer)
	if text == "" {
		return nil, nil
	}
	for _, part := range strings.Split(text, ",") {
		var g messages.OutputGap
		if _, err := fmt.Sscanf(part, "%d-%d", &g.From, &g.To); err != nil {
			return nil, fmt.Errorf("invalid gap %q: %w", part, err)
		}
		gaps = append(gaps, g)
	}
	return gaps, nil
}

func sinceQuery(query url.Values, since time.Time) {
	if !since.IsZero() {
		query.Set("since", since.UTC().Format(time.RFC3339Nano))
	}
}
