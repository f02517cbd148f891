package client

import (
	"context"

	"troupe/internal/api"
	"troupe/messages"
)

// Hold pauses the output of a job, which then blocks on its full pipe, until release is
// called or the connection ends.
func (c *Client) Hold(ctx context.Context, id messages.JobID) (release func(), err error) {
	ctx, cancel := context.WithCancel(ctx)
	r, err := c.routed(ctx, api.Named("hold"), messages.PauseOutput{Job: id, Hold: true})
	if err != nil {
		cancel()
		return nil, err
	}
	reply, err := c.do(r)
	if err != nil {
		cancel()
		return nil, err
	}
	return func() { cancel(); _ = reply.Body.Close() }, nil
}
