package mcp

import (
	"context"
	"fmt"

	"troupe/host"
	"troupe/messages"
)

// played answers a request with the method that a test's host has for it. What a test does not
// expect is an error.
func played(ctx context.Context, h any, request messages.Refusable) (any, error) {
	switch r := request.(type) {
	case messages.FindJob:
		if h, ok := h.(interface {
			Job(ctx context.Context, id messages.JobID) (messages.Record, error)
		}); ok {
			job, err := h.Job(ctx, r.Job)
			return messages.JobFound{Job: job}, err
		}
	case messages.ListJobs:
		if h, ok := h.(interface {
			Jobs(ctx context.Context, r messages.ListJobs) ([]messages.Record, error)
		}); ok {
			jobs, err := h.Jobs(ctx, r)
			return messages.JobList{Jobs: jobs}, err
		}
	case messages.WaitJobs:
		if h, ok := h.(interface {
			Await(ctx context.Context, r messages.WaitJobs) (messages.WaitEnded, error)
		}); ok {
			return host.Reply(h.Await(ctx, r))
		}
	case messages.PromoteCommand:
		if h, ok := h.(interface {
			Promote(ctx context.Context, id messages.JobID) (messages.Record, error)
		}); ok {
			job, err := h.Promote(ctx, r.Job)
			return messages.CommandPromoted{Job: job}, err
		}
	case messages.ReadOutput:
		if h, ok := h.(interface {
			View(ctx context.Context, r messages.ReadOutput) (messages.OutputPage, error)
		}); ok {
			return host.Reply(h.View(ctx, r))
		}
	case messages.OpenScope:
		if h, ok := h.(interface {
			OpenScope(ctx context.Context, path messages.ScopePath, quota messages.ScopeQuota) error
		}); ok {
			return messages.ScopeOpened{Path: r.Path}, h.OpenScope(ctx, r.Path, r.Quota)
		}
	case messages.ReleaseScope:
		if h, ok := h.(interface {
			Leave(ctx context.Context, path messages.ScopePath) error
		}); ok {
			return messages.ScopeReleased{Path: r.Path}, h.Leave(ctx, r.Path)
		}
	case messages.ListSessions:
		return messages.SessionList{}, nil
	}
	return nil, fmt.Errorf("%T was not expected", request)
}

func (n *node) Do(ctx context.Context, r messages.Refusable) (any, error) { return played(ctx, n, r) }

func (h *held) Do(ctx context.Context, r messages.Refusable) (any, error) { return played(ctx, h, r) }

func (w *waiting) Do(ctx context.Context, r messages.Refusable) (any, error) {
	return played(ctx, w, r)
}

func (w *written) Do(ctx context.Context, r messages.Refusable) (any, error) {
	return played(ctx, w, r)
}

func (s *slow) Do(ctx context.Context, r messages.Refusable) (any, error) { return played(ctx, s, r) }

func (h *inn) Do(ctx context.Context, r messages.Refusable) (any, error) { return played(ctx, h, r) }

func (h *oneJob) Do(ctx context.Context, r messages.Refusable) (any, error) { return played(ctx, h, r) }

func (p *pagesOfMatches) Do(ctx context.Context, r messages.Refusable) (any, error) {
	return played(ctx, p, r)
}
