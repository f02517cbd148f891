package dialect

import (
	"context"

	"troupe/host"
	"troupe/messages"
)

// Job finds a job.
func Job(ctx context.Context, h host.Doer, id messages.JobID) (messages.Record, error) {
	found, err := host.Ask(ctx, h, messages.FindJob{Job: id})
	return found.Job, err
}

// Jobs lists jobs.
func Jobs(ctx context.Context, h host.Doer, r messages.ListJobs) ([]messages.Record, error) {
	list, err := host.Ask(ctx, h, r)
	return list.Jobs, err
}

// Sessions lists the open sessions of a scope and its sub-scopes.
func Sessions(ctx context.Context, h host.Doer, scope messages.ScopePath) ([]messages.SessionInfo, error) {
	list, err := host.Ask(ctx, h, messages.ListSessions{Scope: scope})
	return list.Sessions, err
}

// Promote moves a job to the background. The job still ends with its client.
func Promote(ctx context.Context, h host.Doer, id messages.JobID) (messages.Record, error) {
	promoted, err := host.Ask(ctx, h, messages.PromoteCommand{Job: id})
	return promoted.Job, err
}

// Input writes to a job.
func Input(ctx context.Context, h host.Doer, r messages.WriteInput) error {
	_, err := host.Ask(ctx, h, r)
	return err
}

// CloseInput ends the input of a job.
func CloseInput(ctx context.Context, h host.Doer, id messages.JobID) error {
	_, err := host.Ask(ctx, h, messages.CloseInput{Job: id})
	return err
}
