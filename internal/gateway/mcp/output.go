package mcp

import (
	"cmp"
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/internal/dialect/core"
	"troupe/messages"
	"troupe/spill/view"
)

// read shows a part of an output.
func (c *call) read(ctx context.Context, in core.Read) (answer, error) {
	in.MaxBytes = cmp.Or(in.MaxBytes, c.options.Window)
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
	out := &core.RunResult{ResultNotices: core.ResultNotices{Note: core.WaitCut("wait_seconds", in.WaitSeconds)}}
	if in.Pattern != "" {
		out.OutputExcerpt, err = c.search(ctx, messages.ReadOutput{Job: messages.JobID(job.UID), Stream: stream, View: v, Plain: true})
	} else if in.From != nil {
		out.OutputExcerpt, err = c.outputFrom(ctx, job, stream, *in.From, v.Bytes, wait)
	} else {
		var page messages.OutputPage
		page, err = host.ReadFinal(ctx, c.options.Host, messages.ReadOutput{Job: messages.JobID(job.UID), Stream: stream, View: v})
		out.OutputExcerpt = c.pageOf(ctx, job, page, v.Bytes)
	}
	if err != nil {
		return answer{}, err
	}
	if !job.State.Ended() { // the job may have ended meanwhile
		if job, err = dialect.Job(ctx, c.options.Host, messages.JobID(job.UID)); err != nil {
			return answer{}, err
		}
	}
	out.JobRecord = c.record(ctx, job)
	out.FullScreen = out.FullScreen || out.Screen
	return answer{result: out, jobs: []messages.Record{job}}, nil
}

// streamOf returns the stream of a job with a name. Without a name it returns the only
// stream, or stdout.
func streamOf(job messages.Record, name string) (messages.Stream, error) {
	var have []string
	for _, o := range job.Output {
		have = append(have, o.Stream.String())
		if name == o.Stream.String() || name == "" && o.Stream != messages.Stderr {
			return o.Stream, nil
		}
	}
	if len(have) == 0 {
		return 0, &messages.Error{Code: messages.OutputUnavailable, Message: "job " + string(job.ID) + " has no output", Hint: "it may not have started yet, or never did"}
	}
	return 0, messages.Invalid("stream", "job "+string(job.ID)+" has no stream "+core.Preview(name)+"; it has "+strings.Join(have, " and "))
}

// outputTail returns the end of a job's output, at most most bytes. It is empty if
// there is none. Two streams are shown in the order of arrival, without offsets.
func (c *client) outputTail(ctx context.Context, job messages.Record, most int) (page messages.OutputPage, err error) {
	id := messages.JobID(job.UID)
	switch len(job.Output) {
	case 0:
	case 1:
		page, err = host.ReadFinal(ctx, c.options.Host, messages.ReadOutput{
			Job: id, Stream: job.Output[0].Stream, View: messages.View{Kind: messages.ViewTail, Bytes: most},
		})
	default:
		page, err = c.both(ctx, id, [2]int64{}, most)
	}
	if isCode(err, messages.OutputUnavailable) {
		return messages.OutputPage{}, nil
	}
	return page, err
}

// both returns the end of two streams, each after a byte.
func (c *client) both(ctx context.Context, id messages.JobID, after [2]int64, most int) (messages.OutputPage, error) {
	page, err := host.ReadFinal(ctx, c.options.Host, messages.ReadOutput{
		Job: id, Stream: messages.Both, View: messages.View{Kind: messages.ViewTail, Bytes: most}, After: after,
	})
	page.Stream, page.From, page.To = messages.Merged, 0, 0 // of no single stream
	return page, err
}

// instead replaces output that an older daemon cannot show by a sentence. The rest of
// the call has succeeded, which an error would hide.
func instead(job messages.Record, page messages.OutputPage, err error) (messages.OutputPage, error) {
	if !isCode(err, messages.Unsupported) {
		return page, err
	}
	e := coded(err)
	page = messages.OutputPage{Text: "[" + e.Message + ": " + e.Hint + "]\n", Truncated: true}
	for _, o := range job.Output {
		page.Bytes += o.Bytes
	}
	return page, nil
}

// outputFrom shows the output from a byte on and waits for it up to wait. If the byte
// is within a character or a terminal sequence, the rest of that is left out.
func (c *call) outputFrom(ctx context.Context, job messages.Record, stream messages.Stream, from int64, most int, wait time.Duration) (core.OutputExcerpt, error) {
	id := messages.JobID(job.UID)
	waiting, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	before, err := c.before(ctx, id, stream, from)
	if err != nil {
		return core.OutputExcerpt{}, err
	}
	for size := max(most, utf8.UTFMax); ; {
		b, err := c.options.Host.Bytes(ctx, id, stream, from, size, false)
		if err != nil {
			return core.OutputExcerpt{}, err
		}
		more := b.Next < b.Size
		p := part{Bytes: b, before: before, stream: stream, from: from, cols: job.Terminal.Cols, alt: c.alternate(ctx, job, stream, from, b)}
		s, full := p.shown(most, !more && job.State.Ended())
		if s.Next == from && size > maxSequence {
			s, full = p.shown(most, true)
		}
		switch {
		case full && (s.Next > from || wait == 0):
			return c.screenOf(ctx, job, s, most), nil
		case s.Next > from || wait == 0 && !more:
			return s, nil
		case more: // the sequence is longer than the requested bytes
			size = maxSequence + 1
			continue
		}
		came, err := c.options.Host.Bytes(waiting, id, stream, b.Next, 1, true)
		switch {
		case ctx.Err() != nil:
			return core.OutputExcerpt{}, ctx.Err()
		case err != nil && waiting.Err() == nil:
			return core.OutputExcerpt{}, err
		case err != nil || len(came.Data) == 0: // the time is over, or no byte follows
			wait = 0
		}
		if job, err = dialect.Job(ctx, c.options.Host, id); err != nil { // before the output: an ended job has written all of it
			return core.OutputExcerpt{}, err
		}
	}
}

// before returns the bytes in front of an offset that decide how a terminal reads on.
func (c *call) before(ctx context.Context, id messages.JobID, stream messages.Stream, from int64) ([]byte, error) {
	if from == 0 {
		return nil, nil
	}
	b, err := c.options.Host.Bytes(ctx, id, stream, max(0, from-view.MaxString), int(min(from, view.MaxString)), false)
	if err != nil || b.Next != from { // past the end, or a gap
		return nil, err
	}
	if gaps := len(b.Gaps); gaps > 0 {
		b.Data = b.Data[len(b.Data)-int(from-b.Gaps[gaps-1].To):]
	}
	return b.Data, nil
}

// maxSequence exceeds any real terminal sequence. A longer one is treated as text.
const maxSequence = 5 << 18

// part is a part of a stream that follows other bytes.
type part struct {
	Bytes
	before []byte
	stream messages.Stream
	from   int64
	cols   int  // width of the terminal; 0: none
	alt    bool // the alternate screen is shown before it
}

// shown returns the part as text of at most most bytes. It leaves an incomplete sequence at
// the end to the next part. It skips the rest of one that began before. full reports that the
// output ends on the alternate screen.
func (p part) shown(most int, last bool) (s core.OutputExcerpt, full bool) {
	c := view.Cleaner{Final: true, Cols: p.cols}
	rest := c.Begin(p.before, p.Data)
	c.Enter(p.alt)
	text, n, cut, full := cleaned(c, p.Data[rest:], most, last)
	s = core.OutputExcerpt{Output: text, From: p.from, Next: p.Next, Bytes: p.Size, Truncated: cut || p.Next < p.Size}
	if n > 0 || last {
		n, s.From = rest+n, p.from+int64(rest)
	}
	if n < len(p.Data) {
		s.Next = p.from + int64(n)
		for _, g := range p.Gaps {
			if n > 0 && g.From < s.Next {
				s.Next += g.To - g.From
			}
		}
	}
	if p.stream != messages.Merged {
		s.Stream = p.stream.String()
	}
	s.Missing = missing(p.Gaps)
	return s, full && s.Next >= p.Size
}

// cleaned returns the text of the first n bytes of p. cut reports that more text follows. A
// single character or sequence may exceed most. full reports that the alternate screen is shown after n
// bytes.
func cleaned(c view.Cleaner, p []byte, most int, last bool) (text string, n int, cut, full bool) {
	known := func(n int) int {
		try := c.Clone()
		try.Append(nil, p[:n])
		return n - try.Held()
	}
	textOf := func(n int) string {
		try := c.Clone()
		text := try.End(try.Append(nil, p[:n]))
		full = try.FullScreen()
		return string(text)
	}
	if n = len(p); !last {
		n = known(n)
	}
	if text = textOf(n); len(text) <= most {
		return text, n, false, full
	}
	fits, tooLong := 0, n
	for tooLong-fits > 1 {
		if middle := (fits + tooLong) / 2; len(textOf(known(middle))) <= most {
			fits = middle
		} else {
			tooLong = middle
		}
	}
	if fits = known(fits); fits == 0 {
		fits = known(tooLong)
	}
	if fits == 0 { // the output ends within a sequence
		return text, n, false, full
	}
	text = textOf(fits)
	return text, fits, fits < n, full
}

// missing converts gaps to those of a result.
func missing(gaps []messages.OutputGap) (out []core.Gap) {
	for _, g := range gaps {
		out = append(out, core.Gap(g))
	}
	return out
}
