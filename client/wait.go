package client

import (
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"troupe/host"
	"troupe/messages"
)

// await waits until any or all of some jobs meet a condition. It comes back to the next daemon
// with the time that is left, for the jobs that the names meant at first.
func (c *Client) await(ctx context.Context, r messages.WaitJobs) (messages.WaitEnded, error) {
	end, first := time.Now().Add(r.Timeout), true
	lookup := ctx
	if r.Timeout > 0 {
		var cancel context.CancelFunc
		lookup, cancel = context.WithDeadline(ctx, end)
		defer cancel()
	}
	var err error
	switch r.Jobs, err = c.named(lookup, r.Jobs); {
	case err != nil && lookup.Err() != nil && ctx.Err() == nil:
		return messages.WaitEnded{TimedOut: true}, nil
	case err != nil:
		return messages.WaitEnded{}, err
	}
	return returning(ctx, c, func() (messages.WaitEnded, error) {
		if r.Timeout > 0 && !first {
			if r.Timeout = time.Until(end).Round(time.Millisecond); r.Timeout <= 0 {
				return messages.WaitEnded{TimedOut: true}, nil
			}
		}
		first = false
		reply, err := c.send(ctx, r)
		ended, _ := reply.(messages.WaitEnded)
		return ended, err
	})
}

// named replaces names of jobs by ULIDs: a name can mean another job later. A name that means
// none is left for the daemon to refuse.
func (c *Client) named(ctx context.Context, ids []messages.JobID) ([]messages.JobID, error) {
	ids = slices.Clone(ids)
	for i, id := range ids {
		if !messages.UID(id).Made().IsZero() || isShortID(id) {
			continue
		}
		found, err := host.Ask(ctx, c.Host(), messages.FindJob{Job: id})
		var refused *messages.Error
		switch {
		case err == nil:
			ids[i] = messages.JobID(found.Job.UID)
		case !errors.As(err, &refused):
			return nil, err
		}
	}
	return ids, nil
}

// isShortID reports whether an id is a daemon's short one, such as j7. No job has it as a name.
func isShortID(id messages.JobID) bool {
	number, is := strings.CutPrefix(string(id), "j")
	return is && number != "" && strings.Trim(number, "0123456789") == ""
}
