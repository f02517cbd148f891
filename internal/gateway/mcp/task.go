package mcp

import (
	"context"
	"strconv"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/dialect"
	"troupe/internal/dialect/core"
	"troupe/internal/gateway/mcp/tasks"
	"troupe/messages"
)

// taskAfter is how long a call waits before it becomes a task. Most commands end within
// it, and a task costs the client two more requests.
const taskAfter = time.Second

// asTask answers a run that ends soon and makes a task of another one. The task ends
// with the job and has the result of the run. A cancelled task stops the job.
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
		} else if f.in.WaitSeconds == nil { // too many tasks: an ordinary call, with its foreground budget
			late := time.AfterFunc(core.DefaultWait-taskAfter, func() { _, _ = dialect.Promote(ctx, c.options.Host, messages.JobID(f.uid)) })
			defer late.Stop()
		}
		a, err := c.await(ctx, f)
		if err != nil {
			return c.failed(ctx, err)
		}
		return c.answer(ctx, a)
	}}, nil
}

// askTask asks for the input of a task's job; nil means no answer.
func (c *call) askTask(ctx context.Context, f *activeRun, form *sdk.ElicitParams) *sdk.ElicitResult {
	f.asked++
	key := answerField + "-" + strconv.Itoa(f.asked)
	answers, err := c.task.Ask(ctx, map[string]*sdk.ElicitParams{key: form})
	if err != nil {
		return nil
	}
	return answers[key]
}
