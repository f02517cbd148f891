package client

import (
	"context"

	"troupe/host"
	"troupe/internal/api"
	"troupe/messages"
)

// Job finds a job by its id, its ULID or its name.
func (c *Client) Job(ctx context.Context, id messages.JobID) (messages.Record, error) {
	found, err := host.Ask(ctx, c.Host(), messages.FindJob{Job: id})
	return found.Job, err
}

// Jobs lists the jobs at and below a scope, oldest first, and the tasks that a host has
// announced. An empty scope means all; at most one state may be given.
func (c *Client) Jobs(ctx context.Context, r messages.ListJobs) (messages.JobList, error) {
	return host.Ask(ctx, c.Host(), r)
}

// Stop stops a job, or all jobs of a scope or session. It returns when their process trees
// have ended except the survivors.
func (c *Client) Stop(ctx context.Context, r messages.StopCommand) (messages.CommandStopped, error) {
	return host.Ask(ctx, c.Host(), r)
}

// Signal sends a signal to a job's main process, or to its whole tree.
func (c *Client) Signal(ctx context.Context, r messages.SignalCommand) error {
	_, err := host.Ask(ctx, c.Host(), r)
	return err
}

// Promote moves a foreground job to the background. With r.Keep it stays when the client of
// its scope leaves.
func (c *Client) Promote(ctx context.Context, r messages.PromoteCommand) (messages.Record, error) {
	promoted, err := host.Ask(ctx, c.Host(), r)
	return promoted.Job, err
}

// Deadline changes a job's deadline.
func (c *Client) Deadline(ctx context.Context, r messages.ChangeDeadline) error {
	_, err := host.Ask(ctx, c.Host(), r)
	return err
}

// Input writes to a job's standard input. It returns the number of bytes that the kernel has
// taken since the job's start.
func (c *Client) Input(ctx context.Context, r messages.WriteInput) (int64, error) {
	written, err := host.Ask(ctx, c.Host(), r)
	return written.Through, err
}

// Through returns the number of bytes that the kernel has taken since the job's start, after all
// input before it: a client that lost its daemon during Input goes on there.
func (c *Client) Through(ctx context.Context, id messages.JobID) (int64, error) {
	return c.Input(ctx, messages.WriteInput{Job: id})
}

// CloseInput ends a job's standard input.
func (c *Client) CloseInput(ctx context.Context, id messages.JobID) error {
	_, err := host.Ask(ctx, c.Host(), messages.CloseInput{Job: id})
	return err
}

// Resize gives a job's terminal another size.
func (c *Client) Resize(ctx context.Context, r messages.ResizeTerminal) error {
	_, err := host.Ask(ctx, c.Host(), r)
	return err
}

// HandOver moves a live job to another scope.
func (c *Client) HandOver(ctx context.Context, r messages.HandOver) error {
	_, err := host.Ask(ctx, c.Host(), r)
	return err
}

// Screen reads what the terminal of a job shows. A job without one is refused with the code
// unsupported.
func (c *Client) Screen(ctx context.Context, id messages.JobID) (messages.ScreenText, error) {
	return host.Ask(ctx, c.Host(), messages.ReadScreen{Job: id})
}

// Sessions lists the sessions of a scope and its sub-scopes ("": all).
func (c *Client) Sessions(ctx context.Context, scope messages.ScopePath) ([]messages.SessionInfo, error) {
	list, err := c.ListSessions(ctx, messages.ListSessions{Scope: scope})
	return list.Sessions, err
}

// ListSessions lists the sessions of a scope and its sub-scopes. r.Recent adds sessions that
// have ended.
func (c *Client) ListSessions(ctx context.Context, r messages.ListSessions) (messages.SessionList, error) {
	return host.Ask(ctx, c.Host(), r)
}

// CloseSession ends a session and its jobs.
func (c *Client) CloseSession(ctx context.Context, r messages.CloseSession) (messages.SessionClosed, error) {
	return host.Ask(ctx, c.Host(), r)
}

// Scopes lists the scopes at and below a path ("": all), parents first.
func (c *Client) Scopes(ctx context.Context, path messages.ScopePath) ([]messages.ScopeInfo, error) {
	list, err := host.Ask(ctx, c.Host(), messages.ListScopes{Path: path})
	return list.Scopes, err
}

// ShutDown ends the daemon and returns the processes that could not be stopped.
// Jobs live on if r.KeepJobs says so.
func (c *Client) ShutDown(ctx context.Context, r messages.ShutdownNode) ([]messages.Survivor, error) {
	done, err := host.Ask(ctx, c.Host(), r)
	return done.Survivors, err
}

// Stats returns the daemon's counts of jobs, sessions and scopes, among others.
func (c *Client) Stats(ctx context.Context) (api.Stats, error) {
	return get[api.Stats](ctx, c, "/v1/stats")
}

// Problems returns what is wrong with a daemon that answers.
func (c *Client) Problems(ctx context.Context) (api.Health, error) {
	return get[api.Health](ctx, c, "/v1/health")
}

// Version returns the daemon's version and identity.
func (c *Client) Version(ctx context.Context) (api.About, error) {
	return get[api.About](ctx, c, "/v1/version")
}
