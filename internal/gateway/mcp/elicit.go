package mcp

import (
	"context"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/dialect/core"
	"troupe/messages"
)

// firstWithRounds is the first revision in which a server asks its client within the
// result of a call, and not by a request of its own.
const firstWithRounds = "2026-07-28"

// answerField is the field of the form, and the name of its question.
const answerField = "input"

// maxAsked bounds the output that a question shows.
const maxAsked = 1000

// awaitInput tells when the job of a run waits for input, which one that has none
// never does. The channel is closed when that will not be told.
func (c *call) awaitInput(ctx context.Context, f *activeRun) (<-chan messages.Job, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	waits := make(chan messages.Job, 1)
	if !f.input {
		return nil, cancel
	}
	c.work.Go(func() {
		defer close(waits)
		select {
		case <-f.known:
		case <-f.done:
			return
		case <-ctx.Done():
			return
		}
		end, err := c.options.Host.Await(ctx, messages.WaitJobs{
			Jobs: []messages.JobID{messages.JobID(f.uid)}, Condition: messages.Condition{Kind: messages.UntilInput}, // a task may last
		})
		if err == nil && end.Satisfied && len(end.Jobs) == 1 {
			waits <- end.Jobs[0]
		}
	})
	return waits, cancel
}

// ask asks the client for what a job waits for. If that goes on in another call, it
// gives what this one answers. Else the call waits on: something was written, or the
// job was handed back.
//
// A secret is never asked for: what is typed into a form is seen by the client, its
// model and its log. The person is told to attach.
func (c *call) ask(ctx context.Context, f *activeRun, job messages.Job) *sdk.CallToolResult {
	if !c.canAsk() || job.WaitingForSecret {
		c.handBack(ctx, f)
		return nil
	}
	form := c.form(ctx, job)
	if c.task == nil && c.req.ProtocolVersion() >= firstWithRounds {
		c.park(f)
		return &sdk.CallToolResult{InputRequests: sdk.InputRequestMap{answerField: form}, RequestState: string(f.uid)}
	}
	asking, cancel := context.WithCancel(ctx)
	defer cancel()
	answered := make(chan *sdk.ElicitResult, 1)
	c.work.Go(func() {
		defer close(answered)
		if c.task != nil {
			answered <- c.askTask(asking, f, form)
		} else if r, err := c.req.Session.Elicit(asking, form); err == nil {
			answered <- r
		}
	})
	select {
	case r := <-answered:
		if !c.give(ctx, f, r) {
			c.handBack(ctx, f)
		}
	case <-f.done: // its budget is spent, or it has ended without an answer
	case <-ctx.Done():
	}
	return nil
}

// canAsk says whether the client shows forms.
func (c *call) canAsk() bool {
	can := c.req.ClientCapabilities()
	return can != nil && can.Elicitation != nil && (can.Elicitation.Form != nil || can.Elicitation.URL == nil)
}

// form asks for one line.
func (c *call) form(ctx context.Context, job messages.Job) *sdk.ElicitParams {
	page, _ := c.tail(ctx, job, maxAsked) // if it cannot be shown, the command must do
	return &sdk.ElicitParams{
		Mode: "form", Message: "The command `" + core.Preview(job.Command) + "` waits for a line of input. It has written:\n" + strings.TrimRight(page.Text, "\n"),
		RequestedSchema: map[string]any{
			"type": "object", "required": []string{answerField},
			"properties": map[string]any{answerField: map[string]any{"type": "string", "title": "Input", "description": "the line to give it; never a password"}},
		},
	}
}

// give writes what was answered, and reports whether there was anything.
func (c *call) give(ctx context.Context, f *activeRun, r *sdk.ElicitResult) bool {
	if r == nil || r.Action != "accept" {
		return false
	}
	line, ok := r.Content[answerField].(string)
	return ok && c.options.Host.Input(ctx, messages.WriteInput{Job: messages.JobID(f.uid), Data: []byte(line + "\n")}) == nil
}

// handBack lets the job go on without this call, which says that it waits for input.
func (c *call) handBack(ctx context.Context, f *activeRun) {
	if _, err := c.options.Host.Promote(ctx, messages.JobID(f.uid)); err != nil {
		return // it has ended: the call waits for its reply
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return
	}
	if f.err == nil {
		if job, err := c.options.Host.Job(ctx, messages.JobID(f.uid)); err == nil {
			f.job = job
		}
	}
}

// parked is how long the result of a run waits for a client that was asked for input,
// and does not come back.
const parked = 10 * time.Minute

// park keeps a run until its client comes back with what it was asked for.
func (c *call) park(f *activeRun) {
	c.mu.Lock()
	c.flights[f.uid] = f
	c.mu.Unlock()
	c.work.Go(func() {
		<-f.done
		late := time.NewTimer(parked)
		defer late.Stop()
		select {
		case <-late.C:
		case <-c.ctx.Done():
		}
		c.mu.Lock()
		here := c.flights[f.uid] == f
		if here {
			delete(c.flights, f.uid)
		}
		c.mu.Unlock()
		if here {
			c.abandon(f)
		}
	})
}

// abandon lets go of a run that has its reply, which nobody comes for: its end is told
// like any.
func (c *client) abandon(f *activeRun) {
	f.cancel()
	c.trackEnd(f.uid)
	switch {
	case f.err != nil || c.ctx.Err() != nil:
	case f.job.State.Ended():
		c.hasEnded(f.job)
	default:
		c.goesOnAlone(c.ctx, f.job)
	}
}

// comesBack goes on with a run whose client was asked for input.
func (c *call) comesBack(ctx context.Context, state string) (answer, error) {
	c.mu.Lock()
	f := c.flights[messages.UID(state)]
	delete(c.flights, messages.UID(state))
	c.mu.Unlock()
	if f == nil {
		return answer{}, &messages.Error{
			Code: messages.NotFound, Reason: "requestState", Message: "no run of yours has asked for input under that state, or it was answered already",
			Hint: "list with all names your jobs",
		}
	}
	r, _ := c.req.Params.InputResponses[answerField].(*sdk.ElicitResult)
	if !c.give(ctx, f, r) {
		c.handBack(ctx, f)
	}
	return c.await(ctx, f)
}
