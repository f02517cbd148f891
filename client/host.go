package client

import (
	"context"
	"fmt"
	"iter"

	"troupe/host"
	"troupe/messages"
)

// Host returns the daemon as the interface that a node in this process has, too.
func (c *Client) Host() host.Host { return daemonHost{c} }

// daemonHost implements host.Host.
type daemonHost struct{ client *Client }

// Do implements host.Host. It sends each request by its own route.
func (h daemonHost) Do(ctx context.Context, request messages.Refusable) (any, error) {
	c := h.client
	switch r := request.(type) {
	case messages.RunCommand:
		result, err := c.Run(ctx, r)
		return messages.JobFound{Job: result.Job}, err
	case messages.FindJob:
		job, err := c.Job(ctx, r.Job)
		return messages.JobFound{Job: job}, err
	case messages.RemoveJob:
		job, err := c.Remove(ctx, r.Job)
		return messages.JobFound{Job: job}, err
	case messages.ListJobs:
		return host.Reply(c.Jobs(ctx, r))
	case messages.WaitJobs:
		return host.Reply(c.Await(ctx, r))
	case messages.ReadOutput:
		return host.Reply(c.page(ctx, r))
	case messages.ReadScreen:
		return host.Reply(c.screen(ctx, r.Job))
	}
	return h.control(ctx, request)
}

// control sends a request that changes a job, or any other.
func (h daemonHost) control(ctx context.Context, request messages.Refusable) (any, error) {
	c := h.client
	switch r := request.(type) {
	case messages.StopCommand:
		return host.Reply(c.Stop(ctx, r))
	case messages.PromoteCommand:
		job, err := c.Promote(ctx, r)
		return messages.CommandPromoted{Job: job}, err
	case messages.WriteInput:
		through, err := c.Input(ctx, r)
		return messages.InputWritten{Through: through}, err
	case messages.SignalCommand:
		return messages.Acknowledged{}, c.Signal(ctx, r)
	case messages.CloseInput:
		return messages.Acknowledged{}, c.CloseInput(ctx, r.Job)
	case messages.ResizeTerminal:
		return messages.Acknowledged{}, c.Resize(ctx, r)
	case messages.ChangeDeadline:
		return messages.Acknowledged{}, c.Deadline(ctx, r)
	case messages.HandOver:
		return messages.Acknowledged{}, c.HandOver(ctx, r)
	}
	return h.place(ctx, request)
}

// place sends a request about sessions, scopes or the daemon.
func (h daemonHost) place(ctx context.Context, request messages.Refusable) (any, error) {
	c := h.client
	switch r := request.(type) {
	case messages.ListSessions:
		return host.Reply(c.ListSessions(ctx, r))
	case messages.OpenSession:
		info, err := c.OpenSession(ctx, r)
		return messages.SessionOpened{Info: info}, err
	case messages.CloseSession:
		return host.Reply(c.CloseSession(ctx, r))
	case messages.ListScopes:
		scopes, err := c.Scopes(ctx, r.Path)
		return messages.ScopeList{Scopes: scopes}, err
	case messages.OpenScope:
		return messages.ScopeOpened{Path: r.Path}, c.OpenScope(ctx, r)
	case messages.CloseScope:
		return host.Reply(c.CloseScope(ctx, r))
	case messages.ReleaseScope:
		return host.Reply(c.ReleaseScope(ctx, messages.CloseScope{Path: r.Path, Grace: r.Grace, Reason: r.Reason}))
	case messages.ShutdownNode:
		left, err := c.ShutDown(ctx, r)
		return messages.ShutdownDone{Survivors: left}, err
	}
	return nil, &messages.Error{
		Code: messages.Unsupported, Reason: "request", Message: fmt.Sprintf("%T has no route to the daemon", request), Hint: "use a node in this process",
	}
}

// page reads a view of an output.
func (c *Client) page(ctx context.Context, r messages.ReadOutput) (messages.OutputPage, error) {
	what := TextView{Stream: r.Stream, Bytes: int64(r.View.Bytes), Raw: !r.Plain}
	switch r.View.Kind {
	case messages.ViewPage:
		what.Line, what.Limit = r.View.Offset, int64(r.View.Lines)
	case messages.ViewTailLine:
		what.Tail = int64(r.View.Lines)
	case messages.ViewHeadTail:
		what.Head, what.Tail = int64(r.View.Lines), int64(r.View.Lines)
	}
	p, err := c.Text(ctx, r.Job, what)
	return messages.OutputPage{
		Job: p.Job, Stream: r.Stream, Text: p.Text, From: p.From, To: p.To, Line: p.Line, Bytes: p.Bytes, Lines: p.Counted(), LinesExact: p.LinesExact,
		Truncated: p.Truncated, Gaps: p.Gaps, Closed: p.Closed,
	}, err
}

// screen reads what the terminal of a job shows.
func (c *Client) screen(ctx context.Context, id messages.JobID) (messages.ScreenText, error) {
	s, err := c.Screen(ctx, id)
	return messages.ScreenText{
		Job: s.Job, Lines: s.Lines, Cursor: messages.Cursor(s.Cursor), Terminal: messages.Terminal{Rows: s.Rows, Cols: s.Cols},
		Alternate: s.Alternate, Title: s.Title, Keys: messages.KeyModes(s.Keys), Modes: s.Modes, At: s.At, Bytes: s.Bytes,
	}, err
}

// Output implements host.Host.
func (h daemonHost) Output(ctx context.Context, job messages.JobID, stream messages.Stream, from int64) (host.Reader, error) {
	o, err := h.client.Output(ctx, job, Range{Stream: stream, Offset: from, Follow: true})
	if err != nil {
		return nil, err
	}
	return outputReader{o}, nil
}

// outputReader implements host.Reader.
type outputReader struct{ *Output }

// Offset implements host.Reader.
func (r outputReader) Offset() int64 { return r.what.Offset }

// Gaps implements host.Reader.
func (r outputReader) Gaps() []messages.OutputGap { return r.gaps }

// Events implements host.Host.
func (h daemonHost) Events(ctx context.Context, r messages.Subscribe) iter.Seq2[messages.Notification, error] {
	return func(yield func(messages.Notification, error) bool) {
		for e, err := range h.client.Events(ctx, r) {
			if err != nil {
				yield(messages.Notification{}, err)
				return
			}
			if fact := e.Fact(); fact != nil && !yield(messages.Notification{Seq: e.Seq, Fact: fact}, nil) {
				return
			}
		}
	}
}
