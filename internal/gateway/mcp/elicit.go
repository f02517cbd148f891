package mcp

import (
	"context"
	"strings"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/internal/dialect/core"
	"troupe/messages"
)

// firstWithRounds is the first revision in which a server asks its client within the
// result of a call instead of by a request.
const firstWithRounds = "2026-07-28"

// answerField names the field of the form and its question.
const answerField = "input"

// maxAsked bounds the output in a question, in bytes.
const maxAsked = 1000

// awaitInput sends the job of a run when it waits for input. It closes the channel when
// it stops watching. The channel is nil for a job without input, and for a run that has its
// reply: its client was asked, and is not asked again.
func (c *call) awaitInput(ctx context.Context, f *activeRun) (<-chan messages.Record, context.CancelFunc) {
	ctx, cancel := context.WithCancel(ctx)
	waits := make(chan messages.Record, 1)
	select {
	case <-f.done:
		return nil, cancel
	default:
	}
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
		end, err := host.Ask(ctx, c.options.Host, messages.WaitJobs{
			Jobs: []messages.JobID{messages.JobID(f.uid)}, Condition: messages.Condition{Kind: messages.UntilInput}, // without a bound: a task may run for long
		})
		if err == nil && end.Satisfied && len(end.Jobs) == 1 {
			waits <- end.Jobs[0]
		}
	})
	return waits, cancel
}

// elicit asks the client for the input of a job. If the call continues in another one,
// it returns the result that ends this call. A nil result means that input was written
// or the job was promoted, and the call waits on.
//
// It never asks for a secret: the client, its model and its log would see it. The person
// is asked to attach instead.
func (c *call) elicit(ctx context.Context, f *activeRun, job messages.Record) *sdk.CallToolResult {
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
	case <-f.done: // the foreground budget is used up, or the job has ended
	case <-ctx.Done():
	}
	return nil
}

// canAsk reports whether the client shows forms.
func (c *call) canAsk() bool {
	can := c.req.ClientCapabilities()
	return can != nil && can.Elicitation != nil && (can.Elicitation.Form != nil || can.Elicitation.URL == nil)
}

// form returns a form for one line.
func (c *call) form(ctx context.Context, job messages.Record) *sdk.ElicitParams {
	page, _ := c.outputTail(ctx, job, maxAsked) // without output the command must do
	return &sdk.ElicitParams{
		Mode: "form", Message: "The command `" + core.Preview(job.Command) + "` waits for a line of input. It has written:\n" + strings.TrimRight(page.Text, "\n"),
		RequestedSchema: map[string]any{
			"type": "object", "required": []string{answerField},
			"properties": map[string]any{answerField: map[string]any{"type": "string", "title": "Input", "description": "the line to give it; never a password"}},
		},
	}
}

// give writes the answer to the job and reports whether there was one.
func (c *call) give(ctx context.Context, f *activeRun, r *sdk.ElicitResult) bool {
	if r == nil || r.Action != "accept" {
		return false
	}
	line, ok := r.Content[answerField].(string)
	return ok && dialect.Input(ctx, c.options.Host, messages.WriteInput{Job: messages.JobID(f.uid), Data: []byte(line + "\n")}) == nil
}

// handBack promotes the job. The result of the call then says that the job waits for
// input.
func (c *call) handBack(ctx context.Context, f *activeRun) {
	if _, err := dialect.Promote(ctx, c.options.Host, messages.JobID(f.uid)); err != nil {
		return // the job has ended; the call waits for its result
	}
	select {
	case <-f.done:
	case <-ctx.Done():
		return
	}
	if f.err == nil {
		if job, err := dialect.Job(ctx, c.options.Host, messages.JobID(f.uid)); err == nil {
			f.job = job
		}
	}
}

// parked bounds how long the result of a run waits for a client that was asked for
// input.
const parked = 10 * time.Minute

// park keeps a run until its client returns with the input.
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

// abandon drops a run whose client did not return. Its end is reported like any other.
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

// comesBack continues a run whose client was asked for input.
func (c *call) comesBack(ctx context.Context, state string) (answer, error) {
	c.mu.Lock()
	f := c.flights[messages.UID(state)]
	delete(c.flights, messages.UID(state))
	c.mu.Unlock()
	if f == nil {
		return answer{}, &messages.Error{
			Code: messages.NotFound, Reason: "requestState", Message: "no run of yours waits for input under this requestState; it may have been answered",
			Hint: "list with all names your jobs",
		}
	}
	r, _ := c.req.Params.InputResponses[answerField].(*sdk.ElicitResult)
	if !c.give(ctx, f, r) {
		c.handBack(ctx, f)
	}
	return c.await(ctx, f)
}
