package http

import (
	"math"
	"net/http"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
	"troupe/spill/view"
)

// read sends one bounded view as text: a page of lines from 1 (line, limit), the first
// lines (head), or the last lines (tail). Equal head and tail send both ends. The
// default is the end of the output in bytes.
func (c *request) read() error {
	if c.r.URL.Query().Has("since") {
		return &messages.Error{
			Code: messages.Unsupported, Reason: "since", Message: "a view of lines cannot start at a time",
			Hint: "read bytes instead: GET /v1/jobs/{id}/output?since=TIME",
		}
	}
	raw, err := c.flag("raw")
	if err != nil {
		return err
	}
	v, err := c.view()
	if err != nil {
		return err
	}
	both := c.text("stream") == wire.BothStreams
	for _, name := range []string{"offset_stdout", "offset_stderr"} {
		if !both && c.r.URL.Query().Has(name) {
			return messages.Invalid(name, name+" requires stream=both")
		}
	}
	if both {
		return c.readBoth(v, raw)
	}
	job, out, err := c.outputTarget()
	if err != nil {
		return err
	}
	page, err := c.node.Read(c.ctx, messages.ReadOutput{Job: messages.JobID(job.UID), Stream: out.Stream, View: v, Plain: !raw})
	if err != nil {
		return err
	}
	if page.Bytes < out.Bytes || page.Bytes > 0 && len(page.Gaps) == 1 && page.Gaps[0] == (messages.OutputGap{To: page.Bytes}) {
		return forgotten()
	}
	lines := &page.Lines
	if page.Lines == 0 && !page.LinesExact { // a view of the last bytes needs no line count
		lines = nil
	}
	return c.reply(http.StatusOK, wire.Page{
		V: wire.Version, Job: job.ID, Stream: page.Stream.String(), Text: page.Text, From: page.From, To: page.To, Line: page.Line,
		Bytes: page.Bytes, Lines: lines, LinesExact: page.LinesExact, Truncated: page.Truncated, Gaps: wire.List(page.Gaps), Closed: page.Closed,
	})
}

// readBoth sends the end of stdout and stderr in the order of arrival.
func (c *request) readBoth(v messages.View, raw bool) error {
	if v.Kind != messages.ViewTail {
		return &messages.Error{
			Code: messages.Unsupported, Reason: "stream", Message: "stream=both has no view of lines, only the end of the output",
			Hint: "leave line, limit, head and tail out, or ask for stdout or stderr",
		}
	}
	job, err := c.separate()
	if err != nil {
		return err
	}
	var after [2]int64
	wrote := int64(0)
	for i, out := range job.Output {
		if after[i], err = c.number("offset_"+out.Stream.String(), 0, 0, math.MaxInt64); err != nil {
			return err
		}
		wrote += out.Bytes
	}
	o := view.Options{Bytes: v.Bytes, Style: view.Plain}
	if raw {
		o.Style = view.Verbatim
	}
	seen, err := c.node.ViewAfter(job, after, o)
	if err != nil {
		return err
	}
	lost := int64(0)
	for _, g := range seen.Gaps() {
		lost += g.To - g.From
	}
	if seen.Bytes < wrote || wrote > 0 && lost == seen.Bytes {
		return forgotten()
	}
	return c.reply(http.StatusOK, wire.Page{
		V: wire.Version, Job: job.ID, Stream: wire.BothStreams, Text: seen.Text, To: seen.Bytes, Bytes: seen.Bytes, Truncated: seen.Truncated,
		Gaps: []messages.OutputGap{}, Closed: seen.Closed,
	})
}

// view returns the view that the parameters describe.
func (c *request) view() (messages.View, error) {
	query := c.r.URL.Query()
	numbers := map[string]int64{}
	for _, p := range []struct {
		name string
		most int64
	}{{"line", math.MaxInt64}, {"limit", math.MaxInt32}, {"head", math.MaxInt32}, {"tail", math.MaxInt32}, {"bytes", messages.MaxViewBytes}} {
		n, err := c.number(p.name, 0, 1, p.most)
		if err != nil {
			return messages.View{}, err
		}
		numbers[p.name] = n
	}
	v := messages.View{Kind: messages.ViewTail, Bytes: int(numbers["bytes"])}
	page, head, tail := query.Has("line") || query.Has("limit"), query.Has("head"), query.Has("tail")
	switch {
	case page && (head || tail):
		return v, messages.Invalid("line", "a page (line, limit) is another view than head and tail; ask for one of them")
	case page:
		v.Kind, v.Offset, v.Lines = messages.ViewPage, max(1, numbers["line"]), int(numbers["limit"])
	case head && tail && numbers["head"] != numbers["tail"]:
		return v, messages.Invalid("head", "a view of both ends shows as many lines of each; give head and tail the same number")
	case head && tail:
		v.Kind, v.Lines = messages.ViewHeadTail, int(numbers["head"])
	case head:
		v.Kind, v.Offset, v.Lines = messages.ViewPage, 1, int(numbers["head"])
	case tail:
		v.Kind, v.Lines = messages.ViewTailLine, int(numbers["tail"])
	}
	return v, nil
}
