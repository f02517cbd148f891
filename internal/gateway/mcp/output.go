package mcp

import (
	"context"
	"strings"
	"time"
	"unicode/utf8"

	"troupe/internal/dialect/core"
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
		out.OutputExcerpt, err = c.behind(ctx, job, stream, *in.From, v.Bytes, wait)
	} else {
		var page messages.OutputPage
		page, err = c.options.Host.View(ctx, messages.ReadOutput{Job: messages.JobID(job.UID), Stream: stream, View: v, Plain: true})
		out.OutputExcerpt = core.Page(page)
	}
	if err != nil {
		return answer{}, err
	}
	if !job.State.Ended() { // it may have, meanwhile
		if job, err = c.options.Host.Job(ctx, messages.JobID(job.UID)); err != nil {
			return answer{}, err
		}
	}
	out.JobRecord = core.Tell(job, time.Now())
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
// there is nothing. Of two streams both are shown, in the order in which they arrived,
// and what is shown has no place in either.
func (c *client) tail(ctx context.Context, job messages.Job, most int) (page messages.OutputPage, err error) {
	id := messages.JobID(job.UID)
	switch len(job.Output) {
	case 0:
	case 1:
		page, err = c.options.Host.View(ctx, messages.ReadOutput{
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

// both is the end of what two streams have behind a byte of each.
func (c *client) both(ctx context.Context, id messages.JobID, behind [2]int64, most int) (messages.OutputPage, error) {
	page, err := c.options.Host.Both(ctx, id, behind, most)
	page.From, page.To = 0, 0 // of no single stream
	return page, err
}

// instead has a sentence stand for what the host cannot show, an older daemon: whatever
// else the call was for is done, and an error would hide that.
func instead(job messages.Job, page messages.OutputPage, err error) (messages.OutputPage, error) {
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

// behind shows what follows a byte; wait is how long to wait for it. The byte may be
// within a character or a sequence: the rest of that is not shown.
func (c *call) behind(ctx context.Context, job messages.Job, stream messages.Stream, from int64, most int, wait time.Duration) (core.OutputExcerpt, error) {
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
		case more: // a sequence is longer than what was asked for
			size = maxSequence + 1
			continue
		}
		came, err := c.options.Host.Bytes(waiting, id, stream, b.Next, 1, true)
		switch {
		case ctx.Err() != nil:
			return core.OutputExcerpt{}, ctx.Err()
		case err != nil && waiting.Err() == nil:
			return core.OutputExcerpt{}, err
		case err != nil || len(came.Data) == 0: // the time is spent, or no byte follows
			wait = 0
		}
		if job, err = c.options.Host.Job(ctx, id); err != nil { // before its output: what has ended has written all of it
			return core.OutputExcerpt{}, err
		}
	}
}

// before are the last bytes in front of one, as many as tell what a terminal makes of it.
func (c *call) before(ctx context.Context, id messages.JobID, stream messages.Stream, from int64) ([]byte, error) {
	if from == 0 {
		return nil, nil
	}
	b, err := c.options.Host.Bytes(ctx, id, stream, max(0, from-view.MaxString), int(min(from, view.MaxString)), false)
	if err != nil || b.Next != from { // it is behind the end, or there is a gap
		return nil, err
	}
	if gaps := len(b.Gaps); gaps > 0 {
		b.Data = b.Data[len(b.Data)-int(from-b.Gaps[gaps-1].To):]
	}
	return b.Data, nil
}

// maxSequence is more than a terminal's sequence has: what is longer is an accident.
const maxSequence = 5 << 18

// shownBytes is a part of a stream as text, at most so many bytes of it. What cannot
// be told without what is still to come is left to the next part, and what is the rest
// of what is before is left out.
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

// cleaned is the text of the first n bytes of p, which follow what is before. cut says
// that it would be longer than asked for, which a single character may be.
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
	to, behind := 0, 0 // what is known of the text and of p
	for i := range n {
		out = c.Append(out, p[i:i+1])
		known := i + 1 - c.Held() // all in front of this byte, too, if it alone is held
		if c.Held() > 1 || known == behind {
			continue
		}
		if len(out) > most && to > 0 {
			break
		}
		to, behind = len(out), known
	}
	if to == 0 {
		return string(all), n, false
	}
	return string(out[:to]), behind, behind < n
}

// missing are gaps as results have them.
func missing(gaps []messages.OutputGap) (out []core.Gap) {
	for _, g := range gaps {
		out = append(out, core.Gap(g))
	}
	return out
}
