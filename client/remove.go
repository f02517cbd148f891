package client

import (
	"context"
	"errors"
	"slices"

	"troupe/host"
	"troupe/internal/api"
	"troupe/messages"
)

// RemoveAll removes finished jobs and their output. It returns the records of removed jobs,
// and the refusal of each other one. An error ends it early.
func (c *Client) RemoveAll(ctx context.Context, ids []messages.JobID) (removed []messages.Record, refused []error, err error) {
	for some := range slices.Chunk(ids, api.MaxRemoved) {
		reply, err := c.send(ctx, api.Remove{Jobs: some})
		out, _ := reply.(api.Removed)
		if errors.Is(err, noRoute) {
			out, err = c.removeEach(ctx, some)
		}
		removed = append(removed, out.Jobs...)
		for i := range out.Refused {
			refused = append(refused, &out.Refused[i].Error)
		}
		if err != nil {
			return removed, refused, err
		}
	}
	return removed, refused, nil
}

// noRoute is the error of a daemon that does not know a route, such as an older one.
var noRoute = &messages.Error{Code: messages.NotFound, Reason: "route"}

// removeEach removes the jobs one by one, for a daemon without the route of RemoveAll.
func (c *Client) removeEach(ctx context.Context, ids []messages.JobID) (out api.Removed, err error) {
	for _, id := range ids {
		gone, err := host.Ask(ctx, c.Host(), messages.RemoveJob{Job: id})
		var refused *messages.Error
		switch {
		case err == nil:
			out.Jobs = append(out.Jobs, gone.Job)
		case errors.As(err, &refused):
			out.Refused = append(out.Refused, api.Refused{Job: id, Error: *refused})
		default:
			return out, err
		}
	}
	return out, nil
}
