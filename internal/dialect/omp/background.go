package omp

import (
	"context"
	"fmt"
	"time"

	"troupe/host"
	"troupe/internal/artifact"
	"troupe/internal/dialect"
	"troupe/internal/shelltext"
	"troupe/messages"
)

// managed runs a command as a background job and waits for it for up to wait. A command
// that ends by then has an ordinary result. The job keeps its process after that.
func (s *Session) managed(ctx context.Context, c *call, wait time.Duration) (dialect.Result, error) {
	b, err := s.options.Jobs.register(label(c.original), s.options.Owner, func(text string) string { return s.save(artifact.ToolAsync, text) }, false)
	if err != nil {
		return dialect.Result{}, err
	}
	l, err := s.launchOf(c, shelltext.JobKey(s.options.SessionID, b.ID))
	if err != nil {
		s.options.Jobs.acknowledge(b)
		s.options.Jobs.finish(b, dialect.Failure(err.Error()))
		return dialect.Result{}, err
	}
	l.req.Name = c.p.Name
	if l.req.PromoteAfter = wait; wait == 0 {
		l.req.Mode = messages.ModeAsync
	}
	var show func(string)
	if c.update != nil {
		show = func(text string) { c.update(dialect.Result{Text: text, Details: &Details{}}) }
	}
	f, promoted := s.launch(ctx, l, show), make(chan struct{})
	s.options.Jobs.arm(b, func() { s.stopRun(f) })
	s.options.Beside.Go(func() { s.follow(b, f, promoted) })
	r, err := s.await(ctx, c, b, f, promoted)
	if err == nil && !r.IsError && c.p.Ready != nil {
		r.Text = blocks(r.Text, s.awaitReady(ctx, f.id(), *c.p.Ready))
	}
	return r, err
}

// await waits until the job has ended or is in the background, or the caller aborts.
func (s *Session) await(ctx context.Context, c *call, b *job, f *activeRun, promoted <-chan struct{}) (dialect.Result, error) {
	select {
	case <-b.settled:
	case <-promoted:
	case <-ctx.Done():
		s.options.Jobs.acknowledge(b)
		s.options.Jobs.abort(b)
		bound := time.NewTimer(hardGrace)
		defer bound.Stop()
		select {
		case <-b.settled:
		case <-bound.C:
			return dialect.Result{}, &AbortError{Text: textAborted, Cause: ctx.Err()}
		}
		return b.result, &AbortError{Text: b.result.Text, Cause: ctx.Err()}
	}
	select {
	case <-promoted: // even if the job has ended since
		preview := s.preview(ctx, c, f)
		s.options.Jobs.goesOn(b)
		return startResult(b.ID, b.Label, preview, c.timeout, f.notes), nil
	default:
	}
	s.options.Jobs.acknowledge(b)
	return b.result, nil
}

// preview returns the end of a job's output at its promotion.
func (s *Session) preview(ctx context.Context, c *call, f *activeRun) string {
	if c.path == asJob {
		return ""
	}
	page, err := s.tail(f.id())(ctx)
	if err != nil {
		return f.updates.latest()
	}
	return page.Text
}

// tail returns a read of the end of a job's output, without control sequences.
func (s *Session) tail(job messages.JobID) func(context.Context) (messages.OutputPage, error) {
	return func(ctx context.Context) (messages.OutputPage, error) {
		return host.Ask(ctx, s.options.Host, messages.ReadOutput{Job: job, Stream: messages.Merged, View: messages.View{Kind: messages.ViewTail, Bytes: window}, Plain: true})
	}
}

// watchInBackground sends the further output of a run as progress of its job.
func (s *Session) watchInBackground(b *job, f *activeRun) {
	progress := s.options.Jobs.o.Progress
	if progress == nil {
		f.updates.to(nil)
		return
	}
	record := JobRecord{ID: b.ID, Type: b.Type, Status: JobRunning}
	was := f.updates.watched()
	f.updates.to(func(text string) { progress(s.options.Owner, b.ID, asyncResult(dialect.Result{Text: text}, record)) })
	if !was {
		ctx, stop := dialect.Within(f.asked, s.options.Jobs.ctx)
		f.looks.Add(1)
		s.options.Beside.Go(func() {
			defer f.looks.Done()
			defer stop()
			_ = dialect.Live(ctx, s.options.Host, f.id(), messages.Merged, s.tail(f.id()), updateEvery, func(p messages.OutputPage) { f.updates.say(p.Text) }) // an error loses nothing: the result has the whole output
		})
	}
}

// follow waits for the end of a job and records it. It closes promoted when the job goes to
// the background.
func (s *Session) follow(b *job, f *activeRun, promoted chan<- struct{}) {
	<-f.done
	ctx, over := dialect.Within(f.asked, s.options.Jobs.ctx)
	defer over()
	if f.err == nil && !f.job.State.Ended() {
		s.watchInBackground(b, f)
		close(promoted)
		job, err := s.endOf(ctx, f.id())
		if err != nil {
			f.close()
			s.options.Jobs.finish(b, dialect.Failure(fmt.Sprintf(textJobLost, err)))
			return
		}
		f.job, f.text = job, dialect.Text{Truncated: true} // the output is read from the log
	}
	e := s.concludeJob(ctx, b, f)
	s.options.Jobs.finish(b, e.result())
}

// concludeJob concludes the run of a job. Leftovers in its shell stay. A cancelled job
// counts as aborted.
func (s *Session) concludeJob(ctx context.Context, b *job, f *activeRun) ended {
	used, last := f.shell(), f.job
	f.is(f.req.UID, nil) // conclude would release the shell
	s.options.Jobs.know(b, f.id())
	e := s.conclude(ctx, f)
	if used == nil {
		return e
	}
	if e.how == exited {
		s.retire(used, last)
	} else {
		s.release(used, dropShell)
	}
	return e
}

// stopRun stops a command, whether or not its call still waits.
func (s *Session) stopRun(f *activeRun) {
	f.jobCancelled.Store(true)
	f.cancel()
	id := f.id()
	s.options.Beside.Go(func() {
		ctx, stop := context.WithTimeout(f.asked, hardGrace)
		defer stop()
		_, err := host.Ask(ctx, s.options.Host, messages.StopCommand{Job: id, Grace: grace, Reason: textJobStopped})
		if err != nil && !gone(err) {
			s.options.Log.Warn("a job could not be ended", "job", string(id), "error", err)
		}
	})
}

// adopted makes a background job of a command that a person has promoted. Its call returns,
// and the next call gets another shell.
func (s *Session) adopted(c *call, f *activeRun) (dialect.Result, error) {
	used := f.shell()
	s.release(used, leaveShell)
	f.is(f.req.UID, nil)
	goes := dialect.Result{Text: textPromoted, Details: &Details{TimeoutSeconds: c.timeout.Effective}}
	if s.options.Jobs == nil {
		return goes, nil
	}
	b, err := s.options.Jobs.register(label(c.original), s.options.Owner, func(text string) string { return s.save(artifact.ToolAsync, text) }, true)
	if err != nil {
		return goes, nil
	}
	s.options.Jobs.arm(b, func() { s.stopRun(f) })
	promoted := make(chan struct{})
	s.options.Beside.Go(func() {
		s.follow(b, f, promoted)
		if used != nil {
			s.closeShell(used.id)
		}
	})
	return s.await(s.ctx, c, b, f, promoted)
}
