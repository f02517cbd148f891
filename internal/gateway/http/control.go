package http

import (
	"errors"
	"net/http"
	"slices"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// stop stops a job and answers when its tree has ended, or with the survivors.
func (c *request) stop() error {
	body, err := c.stopBody()
	if err != nil {
		return err
	}
	if body.Scope != "" || body.Session != "" {
		return messages.Invalid("scope", "the path names a job; to stop a scope or a session use /v1/stop")
	}
	return c.end(body, messages.StopCommand{Job: c.id()})
}

// stopScope stops all jobs of a scope and its sub-scopes, or of one session.
func (c *request) stopScope() error {
	body, err := c.stopBody()
	if err != nil {
		return err
	}
	if body.Scope == "" {
		return messages.Invalid("scope", "name the scope whose jobs are to be stopped")
	}
	scope, refusal := c.inScope(messages.ScopePath(body.Scope))
	if refusal != nil {
		return refusal
	}
	return c.end(body, messages.StopCommand{Scope: scope, Session: messages.SessionID(body.Session)})
}

func (c *request) stopBody() (wire.Stop, error) {
	var body wire.Stop
	err := c.body(&body, maxBody)
	return body, err
}

func (c *request) end(body wire.Stop, r messages.StopCommand) error {
	var err error
	if r.Grace, err = graceOf(body.Grace); err != nil {
		return err
	}
	r.Reason = body.Reason
	stopped, err := ask(c, r)
	if err != nil {
		return err
	}
	if err := c.awaitNews(stopped.Jobs); err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.Stopped{
		V: wire.Version, Jobs: wire.List(stopped.Jobs), Survivors: wire.List(stopped.Survivors), Already: stopped.Already,
	})
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

func (c *request) signal() error {
	var body wire.Signal
	if err := c.body(&body, maxBody); err != nil {
		return err
	}
	return c.done(messages.SignalCommand{Job: c.id(), Signal: body.Signal, Tree: body.Tree})
}

// promote moves a foreground job to the background and answers its caller. The job is
// kept unless the body says otherwise.
func (c *request) promote() error {
	var body wire.Promote
	if err := c.body(&body, maxBody); err != nil {
		return err
	}
	promoted, err := ask(c, messages.PromoteCommand{Job: c.id(), Keep: body.Keep == nil || *body.Keep})
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, c.setSizes([]messages.Record{promoted.Job})[0])
}

func (c *request) deadline() error {
	var body wire.Deadline
	if err := c.body(&body, maxBody); err != nil {
		return err
	}
	r, refusal := body.Change(c.id())
	if refusal != nil {
		return refusal
	}
	return c.done(r)
}

// input writes to the job and answers when the kernel has taken the bytes.
func (c *request) input() error {
	var body wire.Input
	if err := c.body(&body, maxBody); err != nil {
		return err
	}
	r, refusal := body.Write(c.id())
	if refusal != nil {
		return refusal
	}
	written, err := ask(c, r)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.Written{V: wire.Version, Through: written.Through})
}

func (c *request) closeInput() error {
	if err := c.body(&wire.Empty{}, maxBody); err != nil {
		return err
	}
	return c.done(messages.CloseInput{Job: c.id()})
}

func (c *request) resize() error {
	var size messages.Terminal
	if err := c.body(&size, maxBody); err != nil {
		return err
	}
	if _, err := ask(c, messages.ResizeTerminal{Job: c.id(), Size: size}); err != nil {
		return err
	}
	if job, err := c.node.Job(c.ctx, c.id()); err == nil {
		c.resized(job.UID, size)
	}
	return c.reply(http.StatusOK, wire.Acknowledged{V: wire.Version})
}

// handOver moves a live job to another scope.
func (c *request) handOver() error {
	var body wire.HandOver
	if err := c.body(&body, maxBody); err != nil {
		return err
	}
	to := messages.ScopePath(body.To)
	if err := to.Check(); err != nil {
		return err
	}
	if _, err := c.inScope(to); err != nil {
		return err
	}
	return c.done(messages.HandOver{Job: c.id(), To: to})
}

// done sends a request whose reply is only an acknowledgement.
func (c *request) done(request messages.For[messages.Acknowledged]) error {
	if _, err := ask(c, request); err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.Acknowledged{V: wire.Version})
}
