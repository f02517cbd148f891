package mcp

import (
	"context"
	"errors"

	"troupe/internal/dialect/core"
	"troupe/messages"
)

// Notices: the end of each job that the client was told goes on is told once, in the
// result of whatever it calls next, unless that result is about this end. So every
// client receives ends, also one that takes no notifications.

// trackedJob is a job of whose end the client was not told.
type trackedJob struct {
	called bool         // a call waits for it, and will tell how it went
	end    *core.Notice // heard meanwhile
}

// track remembers a job before it begins: its end may be heard before its result.
func (c *client) track(uid messages.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.backgroundJobs[uid] = &trackedJob{called: true}
}

// trackEnd is said of a job whose call does not tell of its end: from now on any may.
func (c *client) trackEnd(uid messages.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f := c.backgroundJobs[uid]
	if f == nil {
		return
	}
	f.called = false
	if f.end != nil {
		delete(c.backgroundJobs, uid)
		c.pending = append(c.pending, *f.end)
	}
}

// untrack drops a job that never began.
func (c *client) untrack(uid messages.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.backgroundJobs, uid)
}

// markNotified forgets a job of whose end a result tells.
func (c *client) markNotified(job messages.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.backgroundJobs, job.UID)
	for i, n := range c.pending {
		if n.UID == job.UID {
			c.pending = append(c.pending[:i:i], c.pending[i+1:]...)
			return
		}
	}
}

// unnotified are the jobs that the client was told go on, and of whose end it was not told.
func (c *client) unnotified() []messages.JobID {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := make([]messages.JobID, 0, len(c.pending)+len(c.backgroundJobs))
	for _, n := range c.pending {
		ids = append(ids, messages.JobID(n.UID))
	}
	for uid, f := range c.backgroundJobs {
		if !f.called {
			ids = append(ids, messages.JobID(uid))
		}
	}
	return ids
}

// takeNotices are the notices that are to be told now.
func (c *client) takeNotices() []core.Notice {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := c.pending
	c.pending = nil
	return all
}

// hear takes a fact about a job of the client.
func (c *client) hear(fact messages.CommandFact) {
	job := fact.Record()
	if _, ok := fact.(messages.CommandFinished); ok {
		c.hasEnded(job)
	}
	c.updated(fact)
}

// hasEnded takes the end of a job.
func (c *client) hasEnded(job messages.Job) {
	c.mu.Lock()
	defer c.mu.Unlock()
	f, end := c.backgroundJobs[job.UID], core.Notify(job)
	switch {
	case f == nil:
	case f.called:
		f.end = &end
	default:
		delete(c.backgroundJobs, job.UID)
		c.pending = append(c.pending, end)
	}
}

// catchUp asks for what was missed while nobody listened.
func (c *client) catchUp(ctx context.Context) {
	c.mu.Lock()
	scope, going := c.scope, len(c.backgroundJobs)
	c.mu.Unlock()
	if scope == "" || going == 0 {
		return
	}
	jobs, err := c.options.Host.Jobs(ctx, messages.ListJobs{Scope: scope, Finished: true})
	if err != nil {
		c.log.Warn("ends of jobs may have been missed", "scope", scope, "error", err)
		return
	}
	for _, job := range jobs {
		if job.State.Ended() {
			c.hasEnded(job)
		}
	}
}

// coded is the error of a host as a coded one.
func coded(err error) *messages.Error {
	var e *messages.Error
	if errors.As(err, &e) {
		return e
	}
	return &messages.Error{Code: messages.Internal, Message: err.Error()}
}

func isCode(err error, code messages.Code) bool { return errors.Is(err, &messages.Error{Code: code}) }
