package mcp

import (
	"context"
	"slices"
	"time"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/internal/dialect/core"
	"troupe/messages"
)

// wait waits for jobs. Every client can learn of an end this way, also one without
// support for notifications.
func (c *call) wait(ctx context.Context, in core.Await) (answer, error) {
	var ids []messages.JobID
	for _, name := range in.JobIDs {
		job, err := c.own(ctx, name)
		if err != nil {
			return answer{}, err
		}
		ids = append(ids, messages.JobID(job.UID))
	}
	if len(in.JobIDs) == 0 {
		jobs, err := dialect.Jobs(ctx, c.options.Host, messages.ListJobs{Scope: c.scope})
		if err != nil {
			return answer{}, err
		}
		for _, job := range jobs {
			ids = append(ids, messages.JobID(job.UID))
		}
		for _, id := range c.unnotified() { // includes jobs that have just ended
			if !slices.Contains(ids, id) {
				ids = append(ids, id)
			}
		}
	}
	if len(ids) == 0 {
		return answer{result: &core.WaitResult{Satisfied: true, Jobs: []core.WaitedJob{}, ResultNotices: core.ResultNotices{Note: "no job of yours runs: there is nothing to wait for"}}}, nil
	}
	r, bad := in.Request(ids)
	if bad != nil {
		return answer{}, bad
	}
	end, err := c.awaitTelling(ctx, r)
	if err != nil {
		return answer{}, err
	}
	out := &core.WaitResult{Satisfied: end.Satisfied, TimedOut: end.TimedOut, Impossible: end.Impossible, Jobs: []core.WaitedJob{}}
	out.Note = core.WaitCut("timeout_seconds", in.TimeoutSeconds)
	most := in.MaxBytes
	if most == 0 {
		most = core.AwaitBytes
	}
	for _, job := range end.Jobs {
		met := slices.Contains(end.Met, job.ID) || slices.Contains(end.Met, messages.JobID(job.UID))
		seen := core.WaitedJob{JobRecord: c.record(ctx, job), Met: met}
		if (met || job.State.Ended()) && len(job.Output) > 0 {
			page, err := c.outputTail(ctx, job, most)
			if page, err = instead(job, page, err); err != nil {
				return answer{}, err
			}
			shown := c.pageOf(ctx, job, page, most)
			seen.Output, seen.Truncated, seen.FullScreen = shown.Output, shown.Truncated, shown.Screen
			if err := c.grow(ctx, seen.Outputs, job, page); err != nil {
				return answer{}, err
			}
		}
		out.Jobs = append(out.Jobs, seen)
	}
	return answer{result: out, jobs: end.Jobs}, nil
}

// grow raises the sizes of outputs to what is shown of them: a record is as old as the
// start of the wait.
func (c *call) grow(ctx context.Context, outputs []core.Stream, job messages.Record, page messages.OutputPage) error {
	if len(outputs) == 1 {
		outputs[0].Bytes = max(outputs[0].Bytes, page.Bytes)
		return nil
	}
	job, err := dialect.Job(ctx, c.options.Host, messages.JobID(job.UID))
	for i, o := range job.Output {
		outputs[i].Bytes = max(outputs[i].Bytes, o.Bytes)
	}
	return err
}

// awaitTelling waits and reports progress.
func (c *call) awaitTelling(ctx context.Context, r messages.WaitJobs) (messages.WaitEnded, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	began, done := time.Now(), make(chan struct{})
	c.work.Go(func() {
		beat := time.NewTicker(progressEvery)
		defer beat.Stop()
		for {
			select {
			case <-beat.C:
				c.say(ctx, began, "waiting")
			case <-done:
				return
			}
		}
	})
	defer close(done)
	return host.Ask(ctx, c.options.Host, r)
}
