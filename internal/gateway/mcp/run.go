package mcp

import (
	"cmp"
	"context"
	"strings"
	"sync/atomic"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
	"github.com/oklog/ulid/v2"

	"troupe/internal/dialect"
	"troupe/internal/dialect/core"
	"troupe/internal/gateway/mcp/tasks"
	"troupe/messages"
)

// activeRun is a run whose call waits for it. It outlives the call only while the
// client is asked for input (revision 2026-07-28). Its foreground budget bounds that.
type activeRun struct {
	uid        messages.UID
	in         core.Run
	most       int
	began      time.Time
	cancel     context.CancelFunc    // stops the job
	unfed      atomic.Pointer[error] // why its stdin was not written
	known      chan struct{}         // closed when the node knows the job, if a waiter needs that
	done       chan struct{}         // closed when job, text and err are set
	job        messages.Record
	text       Text
	err        error
	input      bool // the job takes input
	background bool // from the start
	asked      int  // questions so far, of a task
}

// run runs a command. It answers when the job has ended or is in the background.
func (c *call) run(ctx context.Context, in core.Run) (answer, error) {
	if state := c.req.Params.RequestState; state != "" {
		return c.comesBack(ctx, state)
	}
	around := c.options.Around
	around.Scope = c.scope
	if in.Session != "" && in.Pty == nil {
		pty := c.sessionInfo(ctx, messages.SessionID(in.Session)).Backend == messages.BackendShellPTY
		in.Pty = &pty
	}
	r, bad := in.Request(around)
	if bad != nil {
		return answer{}, bad
	}
	for i := range r.After {
		before, err := c.own(ctx, string(r.After[i].Job))
		if err != nil {
			return answer{}, err
		}
		r.After[i].Job = messages.JobID(before.UID)
	}
	r.UID = messages.UID(ulid.Make().String())
	if r.Key != "" {
		r.Key = c.name + "/" + r.Key // keys of two clients never match
	}
	f := &activeRun{
		uid: r.UID, in: in, most: cmp.Or(in.MaxBytes, c.options.Window), began: time.Now(), known: make(chan struct{}), done: make(chan struct{}),
		background: r.Mode.Background(), input: r.Terminal != (messages.Terminal{}) || r.Stdin == messages.StdinPipe && in.Stdin == "",
	}
	if !tasks.Offered(c.req) || r.Mode.Background() {
		c.launch(ctx, f, r)
		return c.await(ctx, f)
	}
	if in.WaitSeconds == nil {
		r.PromoteAfter = 0 // no call waits: the task lasts as long as the job
	}
	c.launch(ctx, f, r)
	return c.asTask(ctx, f)
}

// launch starts the run. Its stdin is written when the node knows the job.
func (c *call) launch(ctx context.Context, f *activeRun, r messages.RunCommand) {
	c.track(f.uid)
	ctx, f.cancel = context.WithCancel(context.WithoutCancel(ctx))
	ends := context.AfterFunc(c.ctx, f.cancel)
	c.work.Go(func() {
		defer close(f.done)
		defer ends()
		known := func(messages.JobID) { close(f.known) }
		if !f.input && f.in.Stdin == "" { // no waiter needs it, and it costs the host a reply
			close(f.known)
			known = nil
		}
		f.job, f.text, f.err = c.options.Host.Run(ctx, r, f.most, known)
		switch {
		case f.err != nil && ctx.Err() != nil: // the call was cancelled; the job may have started
		case f.err != nil, f.job.UID != f.uid: // or the key joined another job
			c.untrack(f.uid)
		}
	})
	if f.in.Stdin != "" {
		c.work.Go(func() { c.feedStdin(context.WithoutCancel(ctx), f) })
	}
}

// await waits for the end of a run. Meanwhile it reports progress and asks for input.
// If the call is cancelled, it stops the job.
func (c *call) await(ctx context.Context, f *activeRun) (answer, error) {
	waits, stop := c.awaitInput(ctx, f)
	defer stop()
	beat := time.NewTicker(progressEvery)
	defer beat.Stop()
	var late <-chan time.Time
	if f.background {
		start := time.NewTimer(startsWithin)
		defer start.Stop()
		late = start.C
	}
	for {
		select {
		case <-f.done:
			f.cancel()
			return c.landed(ctx, f)
		case <-late: // the job is queued; as a background job it is answered now
			_, _ = dialect.Promote(ctx, c.options.Host, messages.JobID(f.uid))
		case <-beat.C:
			c.progress(ctx, f)
		case job, ok := <-waits:
			if !ok {
				waits = nil
				continue
			}
			if asks := c.elicit(ctx, f, job); asks != nil {
				return answer{asks: asks}, nil
			}
			stop()
			waits, stop = c.awaitInput(ctx, f)
		case <-ctx.Done():
			return answer{}, c.giveUp(ctx, f)
		}
	}
}

// startsWithin bounds the wait for the start of a background job. A queue may take
// hours; clients abandon a call after a minute.
const startsWithin = 5 * time.Second

// giveUp stops the job of a cancelled call. Its end is reported once, like any other,
// because the client gets no result. A job that never started is forgotten.
func (c *call) giveUp(ctx context.Context, f *activeRun) error {
	f.cancel()
	<-f.done
	late, cancel := context.WithTimeout(context.WithoutCancel(ctx), givenUp)
	defer cancel()
	defer context.AfterFunc(c.ctx, cancel)() // the client has left
	job, err := f.job, f.err
	if err != nil {
		job, err = dialect.Job(late, c.options.Host, messages.JobID(f.uid))
	}
	if isCode(err, messages.NotFound) {
		c.untrack(f.uid)
		return ctx.Err()
	}
	c.trackEnd(f.uid)
	if err == nil && job.State.Ended() {
		c.hasEnded(job) // events may not be followed
		return ctx.Err()
	}
	c.followEnd(late, messages.JobID(f.uid))
	return ctx.Err()
}

// givenUp bounds the question for the job of a cancelled call. The next call that
// follows events asks for missed ends.
const givenUp = 10 * time.Second

// landed returns the answer of a run that has its reply.
func (c *call) landed(ctx context.Context, f *activeRun) (a answer, err error) {
	defer func() {
		if err != nil || !f.job.State.Ended() {
			c.trackEnd(f.uid)
		}
	}()
	if f.err != nil {
		return answer{}, f.err
	}
	note := ""
	switch {
	case f.job.State.Ended():
	case f.job.State == messages.Queued:
		note = "it starts by itself: do something else meanwhile, or wait for it with wait. A later result reports its end"
	case f.background:
		note = "it runs in the background; a later result reports its end, and wait waits for it"
	case f.job.HasFlag(messages.FlagKept):
		note = "a person has moved it to the background and may be watching it: it goes on, also when this client leaves. Go on with something else; a later result reports its end"
	case f.job.WaitingForInput:
		note = waitsNote(f.job)
	default:
		note = "it takes longer than the call waits, and goes on in the background: do something else meanwhile, or wait for it with wait. A later result reports its end"
	}
	if why := f.unfed.Load(); why != nil {
		note = strings.TrimSpace("its standard input could not be written: " + (*why).Error() + ". " + note)
	}
	if cut := core.WaitCut("wait_seconds", f.in.WaitSeconds); cut != "" {
		note = strings.Trim(cut+". "+note, ". ")
	}
	if f.job.End.Outcome == messages.FailedToStart {
		e := f.job.End.Err
		c.markNotified(f.job)
		return answer{}, &e
	}
	a, err = c.shown(ctx, f.job, f.text, f.most, note)
	if out, ok := a.result.(*core.RunResult); ok && out.Session != "" && !out.Running {
		out.SessionCwd = c.sessionInfo(ctx, f.job.Session).Dir
	}
	return a, err
}

// sessionInfo returns a session of the client; the zero value if it is not open.
func (c *call) sessionInfo(ctx context.Context, session messages.SessionID) messages.SessionInfo {
	sessions, err := dialect.Sessions(ctx, c.options.Host, c.scope)
	if err != nil {
		return messages.SessionInfo{}
	}
	for _, s := range sessions {
		if s.Session == session && s.Scope == c.scope {
			return s
		}
	}
	return messages.SessionInfo{}
}

func waitsNote(job messages.Record) string {
	if job.WaitingForSecret {
		return "it waits for a password or another secret. Do not write one: ask the person to attach with troupe attach " + string(job.ID)
	}
	return "it waits for input: write gives it some, and eof ends it"
}

// shown returns the result of a job with the output in the reply to its run.
func (c *call) shown(ctx context.Context, job messages.Record, text Text, most int, note string) (answer, error) {
	// A partial output in the reply has no offsets, and is not final.
	if (text.Truncated || !job.State.Ended()) && len(job.Output) == 1 || text.Redrawn {
		return c.tell(ctx, job, most, note)
	}
	out := &core.RunResult{JobRecord: c.record(ctx, job), ResultNotices: core.ResultNotices{Note: note}}
	out.Output, out.Truncated = text.Text, text.Truncated
	for _, o := range job.Output {
		out.Bytes += o.Bytes
		if o.Lines != nil && o.LinesExact {
			out.Lines += *o.Lines
		}
	}
	if len(job.Output) == 1 {
		out.Next = out.Bytes
	}
	return answer{result: out, jobs: []messages.Record{job}, links: links(job, text.Truncated)}, nil
}

// tell returns the result of a job with the end of its output.
func (c *call) tell(ctx context.Context, job messages.Record, most int, note string) (answer, error) {
	page, err := c.outputTail(ctx, job, most)
	if page, err = instead(job, page, err); err != nil {
		return answer{}, err
	}
	out := &core.RunResult{JobRecord: c.record(ctx, job), OutputExcerpt: c.pageOf(ctx, job, page, most), ResultNotices: core.ResultNotices{Note: note}}
	out.FullScreen = out.Screen
	return answer{result: out, jobs: []messages.Record{job}, links: links(job, out.Truncated)}, nil
}

// links returns links to outputs that are not shown completely.
func links(job messages.Record, truncated bool) []sdk.Content {
	if !truncated {
		return nil
	}
	var all []sdk.Content
	for _, o := range job.Output {
		size := o.Bytes
		all = append(all, &sdk.ResourceLink{
			URI: core.Artifact(job.ID, o.Stream), Name: string(job.ID) + " " + o.Stream.String(), Title: "All output of job " + string(job.ID), MIMEType: "text/plain", Size: &size,
		})
	}
	return all
}
