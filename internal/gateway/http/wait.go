package http

import (
	"net/http"

	"troupe/internal/gateway/http/wire"
)

// wait answers when any or all of some jobs have met a condition, or after its timeout.
// It ends with its client.
func (c *request) wait() error {
	var body wire.Await
	if err := c.body(&body, maxBody); err != nil {
		return err
	}
	r, refusal := body.Request()
	if refusal != nil {
		return refusal
	}
	for i := range r.Jobs {
		r.Jobs[i] = c.job(r.Jobs[i])
	}
	ended, err := ask(c, r)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.WaitResult{
		V: wire.Version, Satisfied: ended.Satisfied, TimedOut: ended.TimedOut, Impossible: ended.Impossible,
		Met: wire.List(ended.Met), Jobs: wire.List(c.setSizes(ended.Jobs)),
	})
}
