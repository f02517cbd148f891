package http

import (
	"errors"
	"net/http"
	"slices"

	"troupe/messages"
)

// stop stops a job and answers when its tree has ended, or with the survivors.
func (c *request) stop() error {
	asked, err := c.decoded(maxBody)
	if err != nil {
		return err
	}
	if r := asked.(messages.StopCommand); r.Scope != "" || r.Session != "" {
		return messages.Invalid("scope", "the path names a job; to stop a scope or a session use /v1/stop")
	}
	return c.stops(asked)
}

// stopScope stops all jobs of a scope and its sub-scopes, or of one session.
func (c *request) stopScope() error {
	asked, err := c.decoded(maxBody)
	if err != nil {
		return err
	}
	if asked.(messages.StopCommand).Scope == "" {
		return messages.Invalid("scope", "name the scope whose jobs are to be stopped")
	}
	return c.stops(asked)
}

func (c *request) stops(asked any) error {
	asked, err := c.confined(asked)
	if err != nil {
		return err
	}
	return c.answer(asked)
}

// awaitNews waits until the records show that jobs have ended. The reply to a stop
// comes from their actors and can overtake the records.
func (c *request) awaitNews(jobs []messages.JobID) error {
	for some := range slices.Chunk(jobs, messages.MaxAwaited) {
		_, err := ask(c, messages.WaitJobs{Jobs: some})
		if err != nil && !errors.Is(err, &messages.Error{Code: messages.NotFound}) { // a removed job has ended too
			return err
		}
	}
	return nil
}

func (c *request) resize() error {
	r, err := read[messages.ResizeTerminal](c)
	if err != nil {
		return err
	}
	done, err := ask(c, r)
	if err != nil {
		return err
	}
	if job, err := c.node.Job(c.ctx, r.Job); err == nil {
		c.resized(job.UID, r.Size)
	}
	return c.reply(http.StatusOK, done)
}
