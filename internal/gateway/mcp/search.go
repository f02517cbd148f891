package mcp

import (
	"context"
	"time"

	"troupe/host"
	"troupe/internal/dialect/core"
	"troupe/messages"
)

// searchTime bounds the time of one search, so that its result comes before clients give up a
// call. A slow pattern in a large output goes on with the next call.
const searchTime = 45 * time.Second

// search shows the lines of a stream that match a pattern. The host searches page by page; the
// result has as many pages as fit into its bytes.
func (c *call) search(ctx context.Context, r messages.ReadOutput) (core.OutputExcerpt, error) {
	most, until := r.View.Bytes, time.Now().Add(searchTime)
	var all messages.OutputPage
	for first := true; ; first = false {
		page, err := host.Ask(ctx, c.options.Host, r)
		if err != nil {
			return core.OutputExcerpt{}, err
		}
		if first {
			all = page
		} else {
			all.Text, all.Matches, all.Gaps = all.Text+page.Text, all.Matches+page.Matches, append(all.Gaps, page.Gaps...)
			all.To, all.Next, all.Bytes = page.To, page.Next, page.Bytes
		}
		if page.Next == "" || len(all.Text) > most/2 || time.Now().After(until) {
			break
		}
		r.View.Cursor, r.View.Bytes = page.Next, most-len(all.Text)
	}
	s := core.Page(all)
	s.Matches, s.Cursor, s.Truncated, s.Lines = &all.Matches, all.Next, all.Next != "", 0
	return s, nil
}
