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
	if in.From != nil {
		out.OutputExcerpt, err = c.outputFrom(ctx, job, stream, *in.From, v.Bytes, wait)
	} else {
		var page messages.OutputPage
		page, err = host.Ask(ctx, c.options.Host, messages.ReadOutput{Job: messages.JobID(job.UID), Stream: stream, View: v, Plain: true})
		out.OutputExcerpt = core.Page(page)
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
		page, err = host.Ask(ctx, c.options.Host, messages.ReadOutput{
			Job: id, Stream: job.Output[0].Stream, View: messages.View{Kind: messages.ViewTail, Bytes: most}, Plain: true,
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
	page, err := host.Ask(ctx, c.options.Host, messages.ReadOutput{
		Job: id, Stream: messages.Both, View: messages.View{Kind: messages.ViewTail, Bytes: most}, After: after, Plain: true,
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
		s := shownBytes(before, b, stream, from, most, !more && job.State.Ended())
		if s.Next == from && size > maxSequence {
			s = shownBytes(before, b, stream, from, most, true)
		}
		switch {
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

// shownBytes returns a part of a stream as text of at most most bytes. It leaves an
// incomplete sequence at the end to the next part. It skips the rest of one that began
// before.
func shownBytes(before []byte, b Bytes, stream messages.Stream, from int64, most int, last bool) core.OutputExcerpt {
	rest := new(view.Cleaner).Begin(before, b.Data)
	text, n, cut := cleaned(before, b.Data[rest:], most, last)
	s := core.OutputExcerpt{Output: text, From: from, Next: b.Next, Bytes: b.Size, Truncated: cut || b.Next < b.Size}
	if n > 0 || last {
		n, s.From = rest+n, from+int64(rest)
	}
	if n < len(b.Data) {
		s.Next = from + int64(n)
		for _, g := range b.Gaps {
			if n > 0 && g.From < s.Next {
				s.Next += g.To - g.From
			}
		}
	}
	if stream != messages.Merged {
		s.Stream = stream.String()
	}
	s.Missing = missing(b.Gaps)
	return s
}

// cleaned returns the text of the first n bytes of p, which follow before. cut reports
// that more text follows. A single character may exceed most.
func cleaned(before, p []byte, most int, last bool) (text string, n int, cut bool) {
	var ahead, whole, c view.Cleaner
	for _, each := range []*view.Cleaner{&ahead, &whole, &c} {
		each.Begin(before, p)
	}
	ahead.Append(nil, p)
	if n = len(p); !last {
		n -= ahead.Held()
	}
	all := whole.End(whole.Append(nil, p[:n]))
	if len(all) <= most {
		return string(all), n, false
	}
	var out []byte
	to, done := 0, 0 // complete text and bytes so far
	for i := range n {
		out = c.Append(out, p[i:i+1])
		known := i + 1 - c.Held() // includes a lone held byte
		if c.Held() > 1 || known == done {
			continue
		}
		if len(out) > most && to > 0 {
			break
		}
		to, done = len(out), known
	}
	if to == 0 {
		return string(all), n, false
	}
	return string(out[:to]), done, done < n
}

// missing converts gaps to those of a result.
func missing(gaps []messages.OutputGap) (out []core.Gap) {
	for _, g := range gaps {
		out = append(out, core.Gap(g))
	}
	return out
}
