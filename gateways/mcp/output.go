package mcp

import (
	"bytes"
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"troupe/dialects/core"
	"troupe/messages"
	"troupe/spill/view"
)

// read shows a part of an output.
func (c *call) read(ctx context.Context, in core.Read) (answer, error) {
	v, bad := in.View()
	if bad != nil {
		return answer{}, bad
	}
	wait := time.Duration(0)
	if in.WaitSeconds != nil {
		if wait, bad = core.Wait(in.WaitSeconds); bad != nil {
			return answer{}, bad
		}
	}
	job, err := c.own(ctx, in.JobID)
	if err != nil {
		return answer{}, err
	}
	stream, err := streamOf(job, in.Stream)
	if err != nil {
		return answer{}, err
	}
	out := &core.RunResult{}
	if in.From != nil {
		out.Shown, err = c.behind(ctx, job, stream, *in.From, v.Bytes, wait)
	} else {
		var page messages.OutputPage
		page, err = c.options.Host.View(ctx, messages.ReadOutput{Job: messages.JobID(job.UID), Stream: stream, View: v, Plain: true})
		out.Shown = core.Page(page)
	}
	if err != nil {
		return answer{}, err
	}
	if !job.State.Ended() { // it may have, meanwhile
		if job, err = c.options.Host.Job(ctx, messages.JobID(job.UID)); err != nil {
			return answer{}, err
		}
	}
	out.Record = core.Tell(job, time.Now())
	return answer{result: out, jobs: []messages.Job{job}}, nil
}

// streamOf is the stream of a job that a name means; none means its only one, or its
// stdout.
func streamOf(job messages.Job, name string) (messages.Stream, error) {
	var have []string
	for _, o := range job.Output {
		have = append(have, o.Stream.String())
		if name == o.Stream.String() || name == "" && o.Stream != messages.Stderr {
			return o.Stream, nil
		}
	}
	if len(have) == 0 {
		return 0, &messages.Error{Code: messages.OutputUnavailable, Message: "job " + string(job.ID) + " has no output", Hint: "it may not have begun yet, or never did"}
	}
	return 0, messages.Invalid("stream", "job "+string(job.ID)+" has no stream "+core.Preview(name)+"; it has "+strings.Join(have, " and "))
}

// tail is the end of what a job has written, at most so many bytes of it: nothing, if
// there is nothing.
func (c *client) tail(ctx context.Context, job messages.Job, most int) (messages.OutputPage, error) {
	if len(job.Output) == 0 {
		return messages.OutputPage{}, nil
	}
	page, err := c.options.Host.View(ctx, messages.ReadOutput{
		Job: messages.JobID(job.UID), Stream: job.Output[0].Stream, View: messages.View{Kind: messages.ViewTail, Bytes: most}, Plain: true,
	})
	if isCode(err, messages.OutputUnavailable) {
		err = nil
	}
	return page, err
}

// behind shows what follows a byte; wait is how long to wait for it.
func (c *call) behind(ctx context.Context, job messages.Job, stream messages.Stream, from int64, most int, wait time.Duration) (core.Shown, error) {
	id := messages.JobID(job.UID)
	b, err := c.options.Host.Bytes(ctx, id, stream, from, most, false)
	if err == nil && len(b.Data) == 0 && wait > 0 {
		waiting, cancel := context.WithTimeout(ctx, wait)
		_, err = c.options.Host.Bytes(waiting, id, stream, from, 1, true)
		cancel()
		if err == nil || waiting.Err() != nil && ctx.Err() == nil {
			b, err = c.options.Host.Bytes(ctx, id, stream, from, most, false)
		}
	}
	if err != nil {
		return core.Shown{}, err
	}
	return shownBytes(b, stream, from, job.State.Ended() && b.Next >= b.Size), nil
}

// shownBytes is a part of a stream as text. What is not whole without what is still to
// come is left to the next part.
func shownBytes(b Bytes, stream messages.Stream, from int64, last bool) core.Shown {
	data := b.Data
	if !last {
		data = whole(data)
	}
	next := b.Next - int64(len(b.Data)-len(data))
	var clean view.Cleaner
	s := core.Shown{Output: string(clean.End(clean.Append(nil, data))), From: from, Next: next, Bytes: b.Size, Truncated: next < b.Size}
	if stream != messages.Merged {
		s.Stream = stream.String()
	}
	s.Missing = missing(b.Gaps)
	return s
}

// missing are gaps as results have them.
func missing(gaps []messages.OutputGap) (out []core.Gap) {
	for _, g := range gaps {
		out = append(out, core.Gap(g))
	}
	return out
}

// maxSequence is the longest end of an escape sequence that is waited for.
const maxSequence = 32

// whole is a part of a stream without the begin of a character or of an escape
// sequence at its end, unless that is all there is.
func whole(p []byte) []byte {
	n := len(p)
	for back := 1; back < utf8.UTFMax && back < n; back++ {
		if utf8.RuneStart(p[n-back]) {
			if !utf8.FullRune(p[n-back:]) {
				n -= back
			}
			break
		}
	}
	tail := p[max(1, n-maxSequence):max(1, n)]
	if at := bytes.LastIndexByte(tail, 0x1b); at >= 0 && n > 1 && !ended(tail[at+1:]) {
		return p[:max(1, n-maxSequence)+at]
	}
	return p[:n]
}

// ended says whether what follows an escape is all of its sequence.
func ended(seq []byte) bool {
	if len(seq) == 0 {
		return false
	}
	if seq[0] != '[' {
		return true // short, or a string whose end may be far
	}
	for _, b := range seq[1:] {
		if b >= 0x40 && b <= 0x7e {
			return true
		}
	}
	return false
}
