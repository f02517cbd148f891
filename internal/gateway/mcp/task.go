package mcp

import (
	"context"
	"strconv"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/dialect/core"
	"troupe/internal/gateway/mcp/tasks"
	"troupe/messages"
)

// taskAfter is how long a call waits before it becomes a task: most commands end
// within it, and a task costs the client two requests more.
const taskAfter = time.Second

// asTask answers a run that has ended soon, and makes a task of one that has not. The
// task ends with the job: then its result is that of the run. Who cancels it ends the
// job.
func (c *call) asTask(ctx context.Context, f *activeRun) (answer, error) {
	soon := time.NewTimer(taskAfter)
	defer soon.Stop()
	select {
	case <-f.done:
		f.cancel()
		return c.landed(ctx, f)
	case <-ctx.Done():
		return answer{}, c.giveUp(ctx, f)
	case <-soon.C:
	}
	return answer{later: func(ctx context.Context, t *tasks.Task) (*sdk.CallToolResult, error) {
		if t.ID() != "" {
			c.task = t
			t.Say("running: " + core.Preview(f.in.Command))
		} else if f.in.WaitSeconds == nil { // there are too many, and it is a call after all, with its budget
			late := time.AfterFunc(core.DefaultWait-taskAfter, func() { _, _ = c.options.Host.Promote(ctx, messages.JobID(f.uid)) })
			defer late.Stop()
		}
		a, err := c.await(ctx, f)
		var result *sdk.CallToolResult
		var shown any
		if err != nil {
			result, shown, err = c.failed(ctx, err)
		} else {
			result, shown, err = c.answer(ctx, a)
		}
		if result != nil && shown != nil {
			result.StructuredContent = shown
		}
		return result, err
	}}, nil
}

// askTask asks for what a task's job waits for; nil is no answer.
func (c *call) askTask(ctx context.Context, f *activeRun, form *sdk.ElicitParams) *sdk.ElicitResult {
	f.asked++
	key := answerField + "-" + strconv.Itoa(f.asked)
	answers, err := c.task.Ask(ctx, map[string]*sdk.ElicitParams{key: form})
	if err != nil {
		return nil
	}
	return answers[key]
}
