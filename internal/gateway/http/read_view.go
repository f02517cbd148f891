package http

import (
	"net/http"

	"troupe/messages"
)

// readView sends one bounded view as text.
func (c *request) readView() error {
	r, err := read[messages.ReadOutput](c)
	if err != nil {
		return err
	}
	if err := c.query.View(&r); err != nil {
		return err
	}
	var job messages.Record
	var out messages.StreamOutput
	if r.Stream == messages.Both {
		job, err = c.separate()
	} else {
		job, out, err = c.outputTarget()
	}
	if err != nil {
		return err
	}
	r.Job = messages.JobID(job.UID)
	page, err := c.node.Read(c.ctx, r)
	if err != nil {
		return err
	}
	if page.Bytes < out.Bytes || page.Bytes > 0 && len(page.Gaps) == 1 && page.Gaps[0] == (messages.OutputGap{To: page.Bytes}) {
		return messages.OutputForgotten()
	}
	page.Job = job.ID
	return c.reply(http.StatusOK, page)
}
