package actors

import (
	"slices"

	"github.com/asynkron/protoactor-go/actor"

	"troupe/messages"
)

// readQueued answers who looks at what a job has written that waits for its turn: that is
// nothing yet, and how long it will wait nobody knows. It does not answer who follows it.
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
		seen = messages.ScreenText{Job: job.ID, Lines: make([]string, job.Terminal.Rows), Visible: true, Size: job.Terminal}
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
