package mcp

import (
	"context"
	"strings"

	"troupe/internal/dialect"
	"troupe/internal/dialect/core"
	"troupe/messages"
	"troupe/spill/view"
)

// pageOf returns the excerpt for a page. If the program takes the whole screen, the excerpt
// has what its screen shows, at most most bytes.
func (c *client) pageOf(ctx context.Context, job messages.Record, page messages.OutputPage, most int) core.OutputExcerpt {
	s := core.Page(page)
	if page.FullScreen {
		s = c.screenOf(ctx, job, s, most)
	}
	return s
}

// screenOf replaces the output of an excerpt by the screen, if the terminal of the job can be
// drawn and shows the alternate screen.
func (c *client) screenOf(ctx context.Context, job messages.Record, s core.OutputExcerpt, most int) core.OutputExcerpt {
	now, err := dialect.ReadScreen(ctx, c.options.Host, messages.JobID(job.UID))
	if err != nil || !now.Alternate {
		return s
	}
	var text strings.Builder
	s.Screen, s.Truncated, s.Line = true, false, 0
	for _, row := range now.Lines {
		if s.Truncated = text.Len()+len(row)+1 > most; s.Truncated {
			break
		}
		text.WriteString(row + "\n")
	}
	s.Output = text.String()
	return s
}

// alternateSearch is how many bytes before a part of an output are searched for a switch of
// screens.
const alternateSearch = 1 << 20

// alternate reports whether a terminal shows the alternate screen before b, which begins at
// an offset. b and the record decide if they can.
func (c *call) alternate(ctx context.Context, job messages.Record, stream messages.Stream, from int64, b Bytes) bool {
	first, _, found := view.Switches(b.Data)
	switch {
	case from == 0, job.Terminal == (messages.Terminal{}), found && first:
		return false
	case !found && b.Next >= b.Size:
		return job.FullScreen
	}
	log := dialect.Log{Ctx: ctx, Host: c.options.Host, Job: messages.JobID(job.UID), Stream: stream}
	on, err := view.AlternateAt(log, max(0, from-alternateSearch), from, false)
	return on && err == nil
}
