package http_test

import (
	"cmp"
	"context"

	"troupe/client"
	"troupe/host"
	"troupe/messages"
)

// asker is a client with a method for each request, which keeps tests short.
type asker struct{ *client.Client }

// Await waits until jobs meet a condition.
func (c asker) Await(ctx context.Context, r messages.WaitJobs) (messages.WaitEnded, error) {
	return host.Ask(ctx, c.Client.Host(), r)
}

// Job finds a job by its id, its ULID or its name.
func (c asker) Job(ctx context.Context, id messages.JobID) (messages.Record, error) {
	found, err := host.Ask(ctx, c.Client.Host(), messages.FindJob{Job: id})
	return found.Job, err
}

// Jobs lists the jobs at and below a scope, oldest first, and the tasks that a host has
// announced. An empty scope means all; at most one state may be given.
func (c asker) Jobs(ctx context.Context, r messages.ListJobs) (messages.JobList, error) {
	return host.Ask(ctx, c.Client.Host(), r)
}

// Stop stops a job, or all jobs of a scope or session. It returns when their process trees
// have ended except the survivors.
func (c asker) Stop(ctx context.Context, r messages.StopCommand) (messages.CommandStopped, error) {
	return host.Ask(ctx, c.Client.Host(), r)
}

// Signal sends a signal to a job's main process, or to its whole tree.
func (c asker) Signal(ctx context.Context, r messages.SignalCommand) error {
	_, err := host.Ask(ctx, c.Client.Host(), r)
	return err
}

// Promote moves a foreground job to the background. With r.Keep it stays when the client of
// its scope leaves.
func (c asker) Promote(ctx context.Context, r messages.PromoteCommand) (messages.Record, error) {
	promoted, err := host.Ask(ctx, c.Client.Host(), r)
	return promoted.Job, err
}

// Deadline changes a job's deadline.
func (c asker) Deadline(ctx context.Context, r messages.ChangeDeadline) error {
	_, err := host.Ask(ctx, c.Client.Host(), r)
	return err
}

// Input writes to a job's standard input. It returns the number of bytes that the kernel has
// taken since the job's start.
func (c asker) Input(ctx context.Context, r messages.WriteInput) (int64, error) {
	written, err := host.Ask(ctx, c.Client.Host(), r)
	return written.Through, err
}

// CloseInput ends a job's standard input.
func (c asker) CloseInput(ctx context.Context, id messages.JobID) error {
	_, err := host.Ask(ctx, c.Client.Host(), messages.CloseInput{Job: id})
	return err
}

// Resize gives a job's terminal another size.
func (c asker) Resize(ctx context.Context, r messages.ResizeTerminal) error {
	_, err := host.Ask(ctx, c.Client.Host(), r)
	return err
}

// HandOver moves a live job to another scope.
func (c asker) HandOver(ctx context.Context, r messages.HandOver) error {
	_, err := host.Ask(ctx, c.Client.Host(), r)
	return err
}

// Text reads a view of a job's output. Without a kind it is the end.
func (c asker) Text(ctx context.Context, id messages.JobID, r messages.ReadOutput) (messages.OutputPage, error) {
	r.Job, r.View.Kind = id, cmp.Or(r.View.Kind, messages.ViewTail)
	return host.Ask(ctx, c.Client.Host(), r)
}

// Sessions lists the sessions of a scope and its sub-scopes ("": all).
func (c asker) Sessions(ctx context.Context, scope messages.ScopePath) ([]messages.SessionInfo, error) {
	list, err := c.ListSessions(ctx, messages.ListSessions{Scope: scope})
	return list.Sessions, err
}

// ListSessions lists the sessions of a scope and its sub-scopes. r.Recent adds sessions that
// have ended.
func (c asker) ListSessions(ctx context.Context, r messages.ListSessions) (messages.SessionList, error) {
	return host.Ask(ctx, c.Client.Host(), r)
}

// CloseSession ends a session and its jobs.
func (c asker) CloseSession(ctx context.Context, r messages.CloseSession) (messages.SessionClosed, error) {
	return host.Ask(ctx, c.Client.Host(), r)
}

// Scopes lists the scopes at and below a path ("": all), parents first.
func (c asker) Scopes(ctx context.Context, path messages.ScopePath) ([]messages.ScopeInfo, error) {
	list, err := host.Ask(ctx, c.Client.Host(), messages.ListScopes{Path: path})
	return list.Scopes, err
}

// ShutDown ends the daemon and returns the processes that could not be stopped.
// Jobs live on if r.KeepJobs says so.
func (c asker) ShutDown(ctx context.Context, r messages.ShutdownNode) ([]messages.Survivor, error) {
	done, err := host.Ask(ctx, c.Client.Host(), r)
	return done.Survivors, err
}
