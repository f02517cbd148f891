package actors

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// readQueued answers output and screen reads for a queued job with an empty page. It returns
// false for follow requests, which wait.
func (c *command) readQueued(ctx actor.Context) bool {
	job := c.machine.Job
	var seen any
	var err *messages.Error
	switch r := ctx.Message().(type) {
	case messages.ReadOutput:
		seen = messages.OutputPage{Job: job.ID, Stream: r.Stream, LinesExact: true}
		if err = checkView(r.View); err == nil && !slices.ContainsFunc(job.Output, func(o messages.StreamOutput) bool { return o.Stream == r.Stream }) {
			err = messages.NoSuchStream(job.ID, r.Stream)
		}
	case messages.ReadScreen:
		seen = messages.ScreenText{Job: job.ID, Lines: make([]string, job.Terminal.Rows), Cursor: messages.Cursor{Visible: true}, Terminal: job.Terminal}
		if job.Terminal == (messages.Terminal{}) {
			err = noTerminal(job.ID)
		}
	default:
		return false
	}
	switch {
	case err != nil:
		refuse(ctx, ctx.Message(), err)
	case ctx.Sender() != nil && reachable(ctx, ctx.Sender()):
		ctx.Respond(seen)
	}
	return true
}
