package mcp

import (
	"context"
	"errors"
	"sync"
	"time"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/host"
	"troupe/internal/dialect"
	"troupe/internal/dialect/core"
	"troupe/internal/gateway/mcp/tasks"
	"troupe/messages"
)

// result is the result of a tool: the text, and details for programs. It carries notices.
type result interface {
	Text() string
	Carry(notices []core.Notice)
}

// answer is a result and the jobs in it.
type answer struct {
	result
	jobs  []messages.Record
	links []sdk.Content
	asks  *sdk.CallToolResult // the client is asked for input first
	later tasks.Work          // work to do as a task
}

// call is one call of a tool.
type call struct {
	*client
	req  *sdk.CallToolRequest
	task *tasks.Task // the task it has become; nil: none
}

// addTools adds the core tools to the server of a client.
func (c *client) addTools() {
	for _, t := range core.Tools(c.options.Beside) {
		switch t.Name {
		case "run":
			add(c, t, (*call).run)
		case "read":
			add(c, t, (*call).read)
		case "write":
			add(c, t, (*call).write)
		case "stop":
			add(c, t, (*call).stop)
		case "list":
			add(c, t, (*call).list)
		case "wait":
			add(c, t, (*call).wait)
		case "promote":
			add(c, t, (*call).promote)
		case "screen":
			add(c, t, (*call).screen)
		}
	}
}

// add adds one tool. Its result has no structuredContent, and so no schema: some clients show
// a model that alone, others the text, and an output in both is sent twice.
func add[In any](c *client, t core.Tool, handle func(*call, context.Context, In) (answer, error)) {
	no, hints := false, &sdk.ToolAnnotations{ReadOnlyHint: t.ReadOnly, IdempotentHint: t.Idempotent} // what is true by default is left out
	if !t.OpenWorld {
		hints.OpenWorldHint = &no
	}
	if !t.Destructive && !t.ReadOnly {
		hints.DestructiveHint = &no
	}
	c.sdk.AddTool(&sdk.Tool{Name: t.Name, Title: t.Title, Description: t.Description, InputSchema: dialect.SchemaOf[In](), Annotations: hints}, func(ctx context.Context, req *sdk.CallToolRequest) (*sdk.CallToolResult, error) {
		var in In
		if bad := dialect.Decode(req.Params.Arguments, &in); bad != nil {
			return c.refuse(ctx, bad), nil
		}
		return serve(ctx, c, req, in, handle)
	})
}

// serve serves one call.
func serve[In any](ctx context.Context, c *client, req *sdk.CallToolRequest, in In, handle func(*call, context.Context, In) (answer, error)) (*sdk.CallToolResult, error) {
	select {
	case c.calls <- struct{}{}:
		defer func() { <-c.calls }()
	default:
		return c.refuse(ctx, errMany), nil
	}
	var a answer
	err := c.enter(ctx, req.ClientInfo)
	if err == nil {
		a, err = handle(&call{client: c, req: req}, ctx, in)
	}
	if err != nil {
		return c.failed(ctx, err)
	}
	return c.answer(ctx, a)
}

// answer sends a result with the pending notices.
func (c *client) answer(ctx context.Context, a answer) (*sdk.CallToolResult, error) {
	switch {
	case a.asks != nil:
		return a.asks, nil
	case a.later != nil:
		return nil, tasks.Later(a.later)
	}
	for _, job := range a.jobs {
		switch {
		case !job.State.Ended():
		case ctx.Err() != nil: // no client reads the result
			c.trackEnd(job.UID)
			c.hasEnded(job) // events may not be followed
		default:
			c.markNotified(job)
			continue
		}
		c.goesOnAlone(ctx, job)
	}
	if ctx.Err() != nil {
		return nil, ctx.Err()
	}
	a.Carry(c.takeNotices(ctx))
	content := append([]sdk.Content{&sdk.TextContent{Text: a.Text()}}, a.links...)
	return &sdk.CallToolResult{Content: content, Meta: sdk.Meta{DetailsKey: a.result}}, nil
}

// goesOnAlone lists a background job and follows its end.
func (c *client) goesOnAlone(ctx context.Context, job messages.Record) {
	c.show(job)
	c.followEnd(ctx, job.ID)
}

// followEnd follows the end of a job.
func (c *client) followEnd(ctx context.Context, job messages.JobID) {
	if err := c.listen(ctx, false); err != nil && ctx.Err() == nil { // the next result tries again
		c.log.Warn("the end of a job may be reported late", "job", job, "error", err)
	}
}

// failed returns an error as the result of a tool, so that a model can react to it.
func (c *client) failed(ctx context.Context, err error) (*sdk.CallToolResult, error) {
	var e *messages.Error
	if !errors.As(err, &e) {
		if ctx.Err() != nil {
			return nil, ctx.Err()
		}
		e = coded(err)
	}
	return c.refuse(ctx, e), nil
}

func (c *client) refuse(ctx context.Context, e *messages.Error) *sdk.CallToolResult {
	var notices core.ResultNotices
	notices.Notifications = c.takeNotices(ctx)
	text := core.Fail(e).Text(notices)
	return &sdk.CallToolResult{Content: []sdk.Content{&sdk.TextContent{Text: text}}, IsError: true}
}

// list lists the jobs, the tasks of its host and live shells of the client.
func (c *call) list(ctx context.Context, in core.List) (answer, error) {
	all, err := host.Ask(ctx, c.options.Host, messages.ListJobs{Scope: c.scope, Finished: in.All, Live: true})
	if err != nil {
		return answer{}, err
	}
	sessions, err := dialect.Sessions(ctx, c.options.Host, c.scope)
	if err != nil {
		return answer{}, err
	}
	out := &core.Jobs{Jobs: records(all.Jobs)}
	for _, t := range all.Tasks {
		out.Tasks = append(out.Tasks, core.Task{Task: string(t.ID), Kind: t.Kind, State: t.State, Ended: t.Ended, Description: t.Description})
	}
	for _, s := range sessions {
		if s.Backend == messages.BackendShell || s.Backend == messages.BackendShellPTY {
			out.Sessions = append(out.Sessions, core.Session{Session: string(s.Session), Shell: s.Shell, Cwd: s.Dir, Running: s.Running, Queued: s.Queued})
		}
	}
	return answer{result: out, jobs: all.Jobs}, nil
}

func records(jobs []messages.Record) []core.JobRecord {
	out := make([]core.JobRecord, 0, len(jobs))
	now := time.Now()
	for _, j := range jobs {
		r := core.Tell(j, now)
		r.QueuedAfter = ahead(j, jobs)
		out = append(out, r)
	}
	return out
}

// record returns the record of a job for a result.
func (c *call) record(ctx context.Context, job messages.Record) core.JobRecord {
	if job.State != messages.Queued {
		return core.Tell(job, time.Now())
	}
	jobs, _ := dialect.Jobs(ctx, c.options.Host, messages.ListJobs{Scope: c.scope}) // without them the job is queued all the same
	for _, j := range jobs {
		if j.UID == job.UID && j.State == messages.Queued {
			job.WaitsFor = j.WaitsFor
		}
	}
	r := core.Tell(job, time.Now())
	r.QueuedAfter = ahead(job, jobs)
	return r
}

// ahead returns the oldest job that runs in the session of a queued one, "" for another job.
func ahead(job messages.Record, jobs []messages.Record) string {
	if job.State != messages.Queued || len(job.WaitsFor) > 0 {
		return ""
	}
	for _, j := range jobs {
		if j.Session == job.Session && j.Scope == job.Scope && j.State != messages.Queued && !j.State.Ended() {
			return string(j.ID)
		}
	}
	return ""
}

// stop stops jobs, or only signals them.
func (c *call) stop(ctx context.Context, in core.Stop) (answer, error) {
	if err := in.Check(); err != nil {
		return answer{}, err
	}
	grace, bad := core.Grace(in.GraceSeconds)
	if bad != nil {
		return answer{}, bad
	}
	const why = "the agent asked for it"
	var err error
	var out core.StopResult
	var ids []messages.JobID
	var left []messages.Survivor
	switch {
	case in.Session != "":
		var closed messages.SessionClosed
		ids, err = c.jobsOf(ctx, in.Session)
		if err == nil {
			closed, err = host.Ask(ctx, c.options.Host, messages.CloseSession{Scope: c.scope, Session: messages.SessionID(in.Session), Grace: grace, Reason: why})
		}
		left, out.Closed = closed.Survivors, in.Session
	case in.All:
		var stopped messages.CommandStopped
		stopped, err = host.Ask(ctx, c.options.Host, messages.StopCommand{Scope: c.scope, Grace: grace, Reason: why})
		ids, left = stopped.Jobs, stopped.Survivors
	default:
		ids, left, err = c.stopEach(ctx, in, grace, why)
	}
	if err != nil {
		return answer{}, err
	}
	a := answer{result: &out}
	for _, id := range ids {
		job, err := dialect.Job(ctx, c.options.Host, id)
		if err != nil {
			return answer{}, err
		}
		out.Jobs, a.jobs = append(out.Jobs, core.Tell(job, time.Now())), append(a.jobs, job)
	}
	for _, s := range left {
		out.Survivors = append(out.Survivors, s.PID)
	}
	if out.Jobs == nil {
		out.Jobs = []core.JobRecord{}
	}
	if in.Signal != "" {
		out.Note = "the signal was sent; what the jobs make of it is theirs"
	}
	return a, nil
}

// jobsOf returns the live jobs of a session.
func (c *call) jobsOf(ctx context.Context, session string) ([]messages.JobID, error) {
	jobs, err := dialect.Jobs(ctx, c.options.Host, messages.ListJobs{Scope: c.scope})
	var ids []messages.JobID
	for _, j := range jobs {
		if j.Session == messages.SessionID(session) && j.Scope == c.scope {
			ids = append(ids, j.ID)
		}
	}
	return ids, err
}

// stopEach stops the named jobs. It finds all of them first: an unknown one stops none.
func (c *call) stopEach(ctx context.Context, in core.Stop, grace time.Duration, why string) (ids []messages.JobID, left []messages.Survivor, err error) {
	for _, name := range in.JobIDs {
		job, err := c.own(ctx, name)
		if err != nil {
			return nil, nil, err
		}
		ids = append(ids, job.ID)
	}
	errs := make([]error, len(ids))
	stopped := make([]messages.CommandStopped, len(ids))
	var all sync.WaitGroup
	for i, id := range ids { // concurrently: each may take its grace
		all.Go(func() {
			if in.Signal != "" {
				_, errs[i] = host.Ask(ctx, c.options.Host, messages.SignalCommand{Job: id, Signal: in.Signal})
				return
			}
			stopped[i], errs[i] = host.Ask(ctx, c.options.Host, messages.StopCommand{Job: id, Grace: grace, Reason: why})
		})
	}
	all.Wait()
	for i := range ids {
		if errs[i] != nil {
			return nil, nil, errs[i]
		}
		left = append(left, stopped[i].Survivors...)
	}
	return ids, left, nil
}

// promote moves a job to the background, without the call that waits for it.
func (c *call) promote(ctx context.Context, in core.Job) (answer, error) {
	job, err := c.own(ctx, in.JobID)
	if err != nil {
		return answer{}, err
	}
	if job.State.Ended() {
		return c.tell(ctx, job, c.options.Window, "it has ended: there is nothing to wait for")
	}
	if job, err = dialect.Promote(ctx, c.options.Host, job.ID); err != nil {
		return answer{}, err
	}
	return c.tell(ctx, job, c.options.Window, "it goes on in the background; a later result reports its end")
}

// screen shows a terminal.
func (c *call) screen(ctx context.Context, in core.Job) (answer, error) {
	job, err := c.own(ctx, in.JobID)
	if err != nil {
		return answer{}, err
	}
	s, err := host.Ask(ctx, c.options.Host, messages.ReadScreen{Job: job.ID})
	if err != nil {
		return answer{}, err
	}
	lines := s.Lines
	if lines == nil {
		lines = []string{}
	}
	return answer{result: &core.Screen{
		JobID: string(job.ID), Screen: lines, Row: s.Row, Col: s.Col, Rows: s.Rows, Cols: s.Cols, Alternate: s.Alternate, Title: s.Title,
		Running: !job.State.Ended(),
	}}, nil
}
