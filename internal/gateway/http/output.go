package http

import (
	"errors"
	"fmt"
	"io"
	"math"
	"net/http"
	"strconv"
	"strings"
	"time"

	"troupe/internal/api"
	"troupe/messages"
)

// copyBuffer is the memory of one follower, in bytes: half a pipe's. The rest stays in
// the log, however slow the reader is.
const copyBuffer = 32 << 10

// output sends the raw bytes of one stream up to its present end or, with follow, to
// its final end. It skips ranges that were not kept and lists them in the trailers. It
// aborts a chunked reply on an error, so that the reader sees the break.
func (c *request) output() error {
	follow, err := c.query.Flag("follow")
	if err != nil {
		return err
	}
	if c.query.Has("grep") {
		return c.search()
	}
	if c.query.Has("context") {
		return messages.Invalid("context", "context requires grep")
	}
	times, err := c.query.Flag("times")
	if err != nil {
		return err
	}
	both := c.query.Text("stream") == api.BothStreams
	others := []string{"offset_stdout", "offset_stderr"}
	if both {
		others = []string{"offset", "limit"}
	}
	for _, name := range others {
		if c.query.Has(name) {
			return messages.Invalid(name, name+" does not apply: stream=both takes offset_stdout and offset_stderr, one stream takes offset and limit")
		}
	}
	if both || times {
		return c.outputFrames(both, follow, times)
	}
	job, out, err := c.outputTarget()
	if err != nil {
		return err
	}
	offset, end, err := c.outputRange(job, out, "offset", follow)
	if err != nil {
		return err
	}
	ctx, cancel := c.stream()
	defer cancel()
	from, err := c.node.Output(ctx, messages.JobID(job.UID), out.Stream, offset)
	if err != nil {
		return err
	}
	defer func() { _ = from.Close() }()
	if end < math.MaxInt64 {
		from.End(end)
	}
	h := c.w.Header()
	h.Set("Content-Type", "application/octet-stream")
	h.Set("Trailer", api.NextTrailer+", "+api.GapsTrailer)
	h.Set(api.StreamHeader, out.Stream.String())
	h.Set(api.OffsetHeader, strconv.FormatInt(offset, 10))
	h.Set(api.SizeHeader, strconv.FormatInt(out.Bytes, 10))
	return c.copy(from, min(end, out.Bytes))
}

// outputRange returns the first byte of a stream that the parameters select, and the end,
// exclusive: of a followed stream math.MaxInt64.
func (c *request) outputRange(job messages.Record, out messages.StreamOutput, name string, follow bool) (offset, end int64, err error) {
	if offset, err = c.query.Number(name, 0, 0, math.MaxInt64); err != nil {
		return 0, 0, err
	}
	limit, err := c.query.Number("limit", math.MaxInt64, 1, math.MaxInt64)
	if err != nil {
		return 0, 0, err
	}
	if offset, err = c.since(job, out.Stream, offset); err != nil {
		return 0, 0, err
	}
	end = math.MaxInt64
	if !follow {
		end = max(offset, out.Bytes)
	}
	if limit < math.MaxInt64-offset {
		end = min(end, offset+limit)
	}
	return offset, end, nil
}

// outputTarget returns the job of the path and the requested stream.
func (c *request) outputTarget() (messages.Record, messages.StreamOutput, error) {
	job, err := c.node.Job(c.ctx, c.id())
	if err != nil {
		return job, messages.StreamOutput{}, err
	}
	want, err := messages.StreamOf(c.query.Text("stream"))
	if err != nil {
		return job, messages.StreamOutput{}, err
	}
	for _, out := range job.Output {
		if out.Stream == want {
			return job, out, nil
		}
	}
	return job, messages.StreamOutput{}, messages.Invalid("stream", fmt.Sprintf("job %s has no stream %s; it has %s", job.ID, want, streamNames(job)))
}

func streamNames(job messages.Record) string {
	var has []string
	for _, out := range job.Output {
		has = append(has, out.Stream.String())
	}
	return strings.Join(has, " and ")
}

// since returns the byte that a moment stands for, or the given offset.
func (c *request) since(job messages.Record, stream messages.Stream, offset int64) (int64, error) {
	text := c.query.Text("since")
	if text == "" && !c.query.Has("since") {
		return offset, nil
	}
	moment, err := time.Parse(time.RFC3339, text)
	switch {
	case err != nil:
		return 0, messages.Invalid("since", "since must be an RFC 3339 time, such as 2026-01-02T15:04:05Z")
	case offset > 0:
		return 0, messages.Invalid("since", "since and an offset exclude each other; use one of them")
	}
	return c.node.Since(c.ctx, messages.JobID(job.UID), stream, moment)
}

// copy sends bytes until the end of the reader and flushes each piece. The output must
// reach least: an earlier end means that it was removed, not that it is empty. For a reader
// that resumes it ends before a gap.
func (c *request) copy(from Output, least int64) error {
	rc := http.NewResponseController(c.w)
	buf := make([]byte, copyBuffer)
	n, err := 0, error(nil)
	apart := c.prefers(api.Resumable)
	if from.Offset() < least { // the bytes exist: a failed read can still become an error reply
		n, err = from.Read(buf)
		if n == 0 && err != nil && (from.Offset() < least || from.Removed()) {
			return gone(err)
		}
	}
	c.w.WriteHeader(http.StatusOK)
	for {
		if gaps := from.Gaps(); apart && n > 0 && len(gaps) > 0 { // what was read is after the gap
			c.trailers(gaps[0].To, gaps)
			return nil
		}
		if n > 0 {
			if _, werr := c.w.Write(buf[:n]); werr != nil {
				panic(http.ErrAbortHandler)
			}
		}
		if errors.Is(err, io.EOF) && from.Offset() >= least {
			c.trailers(from.Offset(), from.Gaps())
			return nil
		}
		if err != nil || rc.Flush() != nil { // the first flush sends the header while the job is silent
			panic(http.ErrAbortHandler)
		}
		n, err = from.Read(buf)
	}
}

// trailers sets the trailers of an output.
func (c *request) trailers(next int64, gaps []messages.OutputGap) {
	c.w.Header().Set(api.NextTrailer, strconv.FormatInt(next, 10))
	c.w.Header().Set(api.GapsTrailer, gapsText(gaps))
}

// gone returns the error for an output that had bytes and has none now.
func gone(err error) error {
	if !errors.Is(err, io.EOF) {
		return err
	}
	return messages.OutputForgotten()
}

// gapsText formats gaps for the trailer.
func gapsText(gaps []messages.OutputGap) string {
	parts := make([]string, len(gaps))
	for i, g := range gaps {
		parts[i] = fmt.Sprintf("%d-%d", g.From, g.To)
	}
	return strings.Join(parts, ",")
}

// screen sends the contents of the job's terminal.
func (c *request) screen() error {
	s, err := c.node.Screen(c.ctx, c.id())
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, s)
}
