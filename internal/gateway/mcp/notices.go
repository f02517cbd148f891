package mcp

import (
	"context"
	"errors"
	"slices"
	"time"

	"troupe/internal/dialect"
	"troupe/internal/dialect/core"
	"troupe/messages"
)

// Notices: the end of each job that was reported as running is reported once. It comes
// with the client's next result, unless that result shows the end itself. So a client
// without support for notifications receives ends too.

// trackedJob is a job whose end was not reported.
type trackedJob struct {
	called bool         // a call waits for the job and will report it
	end    *core.Notice // arrived meanwhile
}

// track records a job before it starts, since its end can arrive before its result.
func (c *client) track(uid messages.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.backgroundJobs[uid] = &trackedJob{called: true}
}

// trackEnd marks a job whose call does not report its end: any result may from now on.
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

// untrack drops a job that never started.
func (c *client) untrack(uid messages.UID) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.backgroundJobs, uid)
}

// markNotified drops a job whose end is in a result.
func (c *client) markNotified(job messages.Record) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.backgroundJobs, job.UID)
	for i, n := range c.pending {
		if n.Job.UID == job.UID {
			c.pending = append(c.pending[:i:i], c.pending[i+1:]...)
			return
		}
	}
}

// unnotified returns the jobs that were reported as running and whose end was not
// reported.
func (c *client) unnotified() []messages.JobID {
	c.mu.Lock()
	defer c.mu.Unlock()
	ids := make([]messages.JobID, 0, len(c.pending)+len(c.backgroundJobs))
	for _, n := range c.pending {
		ids = append(ids, messages.JobID(n.Job.UID))
	}
	for uid, f := range c.backgroundJobs {
		if !f.called {
			ids = append(ids, messages.JobID(uid))
		}
	}
	return ids
}

// maxLastLines bounds the notices of one result with the last line of their job: each is a
// request.
const maxLastLines = 16

// lastLinesTime bounds the reads of last lines: a result does not wait for a keeper that hangs.
const lastLinesTime = time.Second

// takeNotices returns the notices for a result and forgets them. A result without a reader, since
// its call was given up, gets none. What comes meanwhile is for the next result.
func (c *client) takeNotices(ctx context.Context) (all []core.Notice) {
	c.mu.Lock()
	due := slices.Clone(c.pending)
	c.mu.Unlock()
	last := c.lastLines(ctx, due)
	c.mu.Lock()
	defer c.mu.Unlock()
	if ctx.Err() != nil {
		return nil
	}
	c.pending = slices.DeleteFunc(c.pending, func(n core.Notice) bool {
		is := slices.ContainsFunc(due, func(d core.Notice) bool { return d.Job.UID == n.Job.UID })
		if is {
			n.LastLine = last[n.Job.UID]
			all = append(all, n)
		}
		return is
	})
	return all
}

// lastLines returns the last lines of the jobs of the first notices. A notice without one says
// less.
func (c *client) lastLines(ctx context.Context, of []core.Notice) map[messages.UID]string {
	ctx, cancel := context.WithTimeout(ctx, lastLinesTime)
	defer cancel()
	last := map[messages.UID]string{}
	for _, n := range of[:min(len(of), maxLastLines)] {
		if page, err := c.outputTail(ctx, n.Job, maxProgress); err == nil {
			last[n.Job.UID] = lastOf(page.Text)
		}
	}
	return last
}

// handle handles a fact about a job of the client.
func (c *client) handle(fact messages.CommandFact) {
	job := fact.Record()
	if _, ok := fact.(messages.CommandFinished); ok {
		c.hasEnded(job)
	}
	c.wake()
	c.updated(fact)
}

// hasEnded records the end of a job.
func (c *client) hasEnded(job messages.Record) {
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

// catchUp asks for ends from before the subscription.
func (c *client) catchUp(ctx context.Context) {
	c.mu.Lock()
	scope, going := c.scope, len(c.backgroundJobs)
	c.mu.Unlock()
	if scope == "" || going == 0 {
		return
	}
	jobs, err := dialect.Jobs(ctx, c.options.Host, messages.ListJobs{Scope: scope, Finished: true})
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

// coded returns the coded error in err; another error becomes an internal one.
func coded(err error) *messages.Error {
	if e, ok := errors.AsType[*messages.Error](err); ok {
		return e
	}
	return &messages.Error{Code: messages.Internal, Message: err.Error()}
}

func isCode(err error, code messages.Code) bool { return errors.Is(err, &messages.Error{Code: code}) }
