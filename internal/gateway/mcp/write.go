package mcp

import (
	"cmp"
	"context"
	"sync"
	"time"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/internal/dialect/core"
	"troupe/messages"
)

// write writes input to a job and shows its reply.
func (c *call) write(ctx context.Context, in core.Write) (answer, error) {
	if bad := in.Check(); bad != nil {
		return answer{}, bad
	}
	wait, bad := in.Answer()
	if bad != nil {
		return answer{}, bad
	}
	job, err := c.own(ctx, in.JobID)
	if err != nil {
		return answer{}, err
	}
	id := messages.JobID(job.UID)
	if err := c.put(ctx, id, in); isCode(err, messages.NoInput) {
		e := *coded(err)
		e.Message, e.Hint = "job "+string(job.ID)+" takes no input", "run it with interactive, or with pty for a terminal"
		return answer{}, &e
	} else if err != nil {
		return answer{}, err
	}
	before := job.Output
	if len(before) > 0 && wait > 0 {
		quiet := core.Quiet
		if job.WaitingForInput {
			quiet = core.QuietReader
		}
		c.answered(ctx, id, before, wait, quiet, in.EOF)
	}
	if job, err = dialect.Job(ctx, c.options.Host, id); err != nil { // before the output: an ended job has written all of it
		return answer{}, err
	}
	out := &core.RunResult{}
	if len(before) > 0 {
		if out.OutputExcerpt, err = c.since(ctx, job, before, cmp.Or(in.MaxBytes, c.options.Window)); err != nil {
			return answer{}, err
		}
	}
	out.JobRecord = core.Tell(job, time.Now())
	out.FullScreen = out.FullScreen || out.Screen
	switch cut := core.WaitCut("wait_seconds", in.WaitSeconds); {
	case job.WaitingForSecret:
		out.Note = waitsNote(job)
	case job.Terminal == (messages.Terminal{}) && !job.State.Ended() && in.Interrupts():
		out.Note = "without a terminal, Ctrl-C is only a byte of its input; stop with signal INT interrupts it"
	default:
		out.Note = cut
	}
	return answer{result: out, jobs: []messages.Record{job}}, nil
}

// since shows what a job has written after earlier sizes.
func (c *call) since(ctx context.Context, job messages.Record, before []messages.StreamOutput, most int) (core.OutputExcerpt, error) {
	if len(before) == 1 {
		return c.outputFrom(ctx, job, before[0].Stream, before[0].Bytes, most, 0)
	}
	page, err := c.both(ctx, messages.JobID(job.UID), [2]int64{before[0].Bytes, before[1].Bytes}, most)
	page, err = instead(job, page, err)
	return core.Page(page), err
}

func (c *call) put(ctx context.Context, id messages.JobID, in core.Write) error {
	var err error
	if in.Text+in.Keys+in.Paste != "" {
		err = dialect.Input(ctx, c.options.Host, messages.WriteInput{Job: id, Data: []byte(in.Text), Keys: in.Keys, Paste: in.Paste})
	}
	if err == nil && in.EOF {
		err = dialect.CloseInput(ctx, c.options.Host, id)
	}
	return err
}

// answered waits until a job has reacted to input: it has ended, waits for input again,
// or has written something and is quiet. Waiting is not visible for every program
// (docs/api.md) and quiet is a weak sign, so the first of them counts. After end of
// input only the end or quiet counts. A condition that can no longer be met is no
// reaction.
func (c *call) answered(ctx context.Context, id messages.JobID, before []messages.StreamOutput, wait, quiet time.Duration, eof bool) {
	ctx, cancel := context.WithTimeout(ctx, wait)
	defer cancel()
	var all sync.WaitGroup
	defer all.Wait()
	defer cancel()
	came := make(chan struct{}, 2+len(before))
	until := func(condition messages.Condition) {
		end, err := host.Ask(ctx, c.options.Host, messages.WaitJobs{Jobs: []messages.JobID{id}, Condition: condition, Timeout: wait})
		if err == nil && end.Satisfied {
			came <- struct{}{}
		}
	}
	all.Go(func() { until(messages.Condition{Kind: messages.UntilExit}) })
	if !eof {
		all.Go(func() { until(messages.Condition{Kind: messages.UntilInput}) })
	}
	for _, o := range before {
		all.Go(func() {
			if b, err := c.options.Host.Bytes(ctx, id, o.Stream, o.Bytes, 1, true); err == nil && (len(b.Data) > 0 || len(before) == 1) {
				until(messages.Condition{Kind: messages.UntilQuiet, Quiet: quiet})
			}
		})
	}
	select {
	case <-came:
	case <-ctx.Done():
	}
}
