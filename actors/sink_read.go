package actors

import (
	"fmt"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
	"troupe/spill"
	"troupe/spill/view"
)

// countStep bounds the bytes in which one message counts lines. Between two steps the sink
// handles other messages.
const countStep = 1 << 20

// countLines continues the line count of a stream.
type countLines struct {
	noDeadLetter
	stream messages.Stream
}

// read answers with a view, or keeps the request until its lines are counted.
func (s *sink) read(ctx actor.Context, p pending, r messages.ReadOutput) {
	if err := checkView(r.View); err != nil {
		s.refuse(ctx, p, err)
		return
	}
	b, err := s.book(r.Stream)
	switch {
	case err != nil && s.closed && s.failed == nil && len(s.streamStates) == 0: // the job has never started
		s.tell(ctx, p.sender, messages.OutputPage{Job: s.job, Stream: r.Stream, LinesExact: true, Closed: true})
		return
	case err != nil:
		s.refuse(ctx, p, err)
		return
	}
	size, _ := s.size(b)
	if err := spill.ErrOf(b.log); err != nil {
		s.refuse(ctx, p, asError(err, messages.OutputUnavailable))
		return
	}
	if p.target = needs(r.View, size); b.lines.Seen() >= p.target {
		s.answer(ctx, b, p, r)
		return
	}
	if s.waiting >= maxWaiting {
		s.refuse(ctx, p, &messages.Error{
			Code: messages.ResourceExhausted, Reason: "waiting",
			Message: fmt.Sprintf("job %s: limit of %d requests that count its lines reached", s.job, s.waiting), Hint: "retry, or ask for a view without line numbers",
		})
		return
	}
	b.waiting = append(b.waiting, p)
	s.waiting++
	if !b.counting {
		b.counting = true
		ctx.Send(ctx.Self(), countLines{stream: b.stream})
	}
}

// checkView returns the error of an invalid view.
func checkView(v messages.View) *messages.Error {
	switch v.Kind {
	case messages.ViewTail, messages.ViewTailLine, messages.ViewPage, messages.ViewRange, messages.ViewSize:
	case messages.ViewHeadTail:
		if v.Lines == 0 {
			return messages.Invalid("lines", "a view of head and tail needs a number of lines")
		}
	default:
		return messages.Invalid("view", fmt.Sprintf("invalid view %q: use tail, tail_line, head_tail, page, range or size", v.Kind))
	}
	switch {
	case v.Offset < 0:
		return messages.Invalid("offset", "the offset is negative; give a line from 1, or a byte from 0")
	case v.Lines < 0:
		return messages.Invalid("lines", "the number of lines is negative")
	case v.Bytes < 0:
		return messages.Invalid("bytes", "the number of bytes is negative")
	}
	return nil
}

// needs returns the byte up to which lines must be counted for a view of a log of size bytes.
// A view without line numbers needs none.
func needs(v messages.View, size int64) int64 {
	if v.Kind == messages.ViewTail || v.Kind == messages.ViewRange {
		return 0
	}
	return size
}

// count counts one step and answers the requests that it satisfies, in order.
func (s *sink) count(ctx actor.Context, m countLines) {
	b := s.streamStates[m.stream]
	if b == nil || !b.counting {
		return
	}
	before := b.lines.Seen()
	_, err := b.lines.Advance(b.log, countStep)
	stuck := b.lines.Seen() == before // another process has truncated its file
	for len(b.waiting) > 0 {
		p := b.waiting[0]
		if err == nil && !stuck && b.lines.Seen() < p.target {
			break
		}
		if err != nil {
			s.refuse(ctx, p, asError(err, messages.OutputUnavailable))
		} else {
			s.answer(ctx, b, p, p.request.(messages.ReadOutput))
		}
		b.waiting = b.waiting[1:] // not before: after a panic in the view, abandon answers
		s.waiting--
	}
	if b.counting = len(b.waiting) > 0; b.counting {
		ctx.Send(ctx.Self(), m)
	}
	s.answerFlush(ctx)
}

// answer sends the page of a view.
func (s *sink) answer(ctx actor.Context, b *streamState, p pending, r messages.ReadOutput) {
	page, err := show(b, r, s.cols())
	if err != nil {
		s.refuse(ctx, p, asError(err, messages.OutputUnavailable))
		return
	}
	lines, exact := b.lines.Count()
	page.Job, page.Stream = s.job, r.Stream
	page.Lines, page.LinesExact = lines, exact && b.lines.Seen() == page.Bytes
	page.Closed = page.Closed || s.closed && page.Bytes == b.log.State().Size
	s.tell(ctx, p.sender, page)
}

// cols returns the width of the terminal, 0 without one.
func (s *sink) cols() int {
	if n := len(s.terminal.Sizes); n > 0 {
		return s.terminal.Sizes[n-1].Size.Cols
	}
	return 0
}

// show returns the view. A view of sizes only gives the counted bytes, so that bytes and lines
// are of the same instant.
func show(b *streamState, r messages.ReadOutput, cols int) (messages.OutputPage, error) {
	o := view.Options{Bytes: r.View.Bytes, Cols: cols}
	switch {
	case r.Final:
		o.Style = view.Final
	case r.Plain:
		o.Style = view.Plain
	}
	var v view.View
	var err error
	switch r.View.Kind {
	case messages.ViewSize:
		st := b.log.State()
		return messages.OutputPage{
			To: b.lines.Seen(), Bytes: b.lines.Seen(), Gaps: gapsOf(st.Gaps), Closed: st.Closed && b.lines.Seen() == st.Size,
		}, nil
	case messages.ViewRange:
		return raw(b, r.View)
	case messages.ViewTail:
		v, err = view.Tail(b.log, o)
	case messages.ViewTailLine:
		v, err = view.TailLines(b.log, &b.lines, r.View.Lines, o)
	case messages.ViewHeadTail:
		v, err = view.HeadTail(b.log, &b.lines, r.View.Lines, r.View.Lines, o)
	default:
		v, err = view.Page(b.log, &b.lines, r.View.Offset, r.View.Lines, o)
	}
	return messages.OutputPage{
		Text: v.Text, From: v.From, To: v.To, Line: v.Line, Bytes: v.Bytes, Truncated: v.Truncated, Gaps: gapsOf(v.Gaps()), Closed: v.Closed,
		FullScreen: v.FullScreen,
	}, err
}

func raw(b *streamState, v messages.View) (messages.OutputPage, error) {
	limit := int64(v.Bytes)
	if limit == 0 {
		limit = view.DefaultBytes
	}
	data, gaps, err := view.Raw(b.log, v.Offset, limit)
	st := b.log.State()
	to := v.Offset + int64(len(data))
	return messages.OutputPage{
		Data: data, From: v.Offset, To: to, Bytes: st.Size, Truncated: v.Offset > 0 || to < st.Size, Gaps: gapsOf(gaps), Closed: st.Closed,
	}, err
}

func gapsOf(gaps []spill.Gap) []messages.OutputGap {
	var out []messages.OutputGap
	for _, g := range gaps {
		out = append(out, messages.OutputGap{From: g.From, To: g.To})
	}
	return out
}
