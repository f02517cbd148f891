package client

import (
	"context"
	"net/http"
	"net/url"
	"strings"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// Sessions lists the sessions of a scope and its sub-scopes ("": all).
func (c *Client) Sessions(ctx context.Context, scope messages.ScopePath) ([]messages.SessionInfo, error) {
	list, err := c.ListSessions(ctx, messages.ListSessions{Scope: scope})
	return list.Sessions, err
}

// ListSessions lists the sessions of a scope and its sub-scopes. r.Recent adds sessions that
// have ended.
func (c *Client) ListSessions(ctx context.Context, r messages.ListSessions) (messages.SessionList, error) {
	query := url.Values{}
	if r.Scope != "" {
		query.Set("scope", string(r.Scope))
	}
	if r.Recent {
		query.Set("recent", "true")
	}
	list, err := ask[wire.SessionList](ctx, c, http.MethodGet, "/v1/sessions", query, nil)
	return messages.SessionList{Sessions: list.Sessions, Recent: list.Recent}, err
}

// OpenSession opens a session, or returns the open one.
func (c *Client) OpenSession(ctx context.Context, r messages.OpenSession) (messages.SessionInfo, error) {
	opened, err := ask[wire.SessionReply](ctx, c, http.MethodPost, "/v1/sessions", nil, r)
	return opened.Session, err
}

// CloseSession ends a session and its jobs.
func (c *Client) CloseSession(ctx context.Context, r messages.CloseSession) (messages.SessionClosed, error) {
	query := url.Values{}
	if r.Scope != "" {
		query.Set("scope", string(r.Scope))
	}
	if r.Reason != "" {
		query.Set("reason", r.Reason)
	}
	graceQuery(query, r.Grace)
	out, err := ask[wire.Closed](ctx, c, http.MethodDelete, "/v1/sessions/"+url.PathEscape(string(r.Session)), query, nil)
	return messages.SessionClosed{Scope: r.Scope, Session: r.Session, Reason: out.Reason, Survivors: out.Survivors}, err
}

// Scopes lists the scopes at and below a path ("": all), parents first.
func (c *Client) Scopes(ctx context.Context, path messages.ScopePath) ([]messages.ScopeInfo, error) {
	query := url.Values{}
	if path != "" {
		query.Set("path", string(path))
	}
	list, err := ask[wire.ScopeList](ctx, c, http.MethodGet, "/v1/scopes", query, nil)
	var out []messages.ScopeInfo
	for _, s := range list.Scopes {
		out = append(out, messages.ScopeInfo{Path: s.Path, Jobs: s.Jobs, Sessions: s.Sessions, Quota: messages.ScopeQuota(s.Quota)})
	}
	return out, err
}

// OpenScope opens a scope and its parents.
func (c *Client) OpenScope(ctx context.Context, r messages.OpenScope) error {
	_, err := ask[wire.ScopeReply](ctx, c, http.MethodPost, "/v1/scopes", nil, wire.OpenScope{Path: string(r.Path), Quota: wire.ScopeQuota(r.Quota)})
	return err
}

// CloseScope closes a scope and everything in it.
func (c *Client) CloseScope(ctx context.Context, r messages.CloseScope) (messages.ScopeClosed, error) {
	query := url.Values{}
	if r.Reason != "" {
		query.Set("reason", r.Reason)
	}
	graceQuery(query, r.Grace)
	names := r.Path.Names()
	for i, n := range names {
		names[i] = url.PathEscape(n)
	}
	out, err := ask[wire.Closed](ctx, c, http.MethodDelete, "/v1/scopes/"+strings.Join(names, "/"), query, nil)
	return messages.ScopeClosed{Path: r.Path, Reason: out.Reason, Jobs: out.Jobs, Survivors: out.Survivors}, err
}

// Stats returns the daemon's counts of jobs, sessions and scopes, among others.
func (c *Client) Stats(ctx context.Context) (wire.Stats, error) {
	return ask[wire.Stats](ctx, c, http.MethodGet, "/v1/stats", nil, nil)
}

// Health returns nil while the daemon takes requests.
func (c *Client) Health(ctx context.Context) error {
	_, err := ask[wire.Health](ctx, c, http.MethodGet, "/v1/health", nil, nil)
	return err
}

// Problems returns what is wrong with a daemon that answers.
func (c *Client) Problems(ctx context.Context) (wire.Health, error) {
	return ask[wire.Health](ctx, c, http.MethodGet, "/v1/health", nil, nil)
}

// Version returns the daemon's version and identity.
func (c *Client) Version(ctx context.Context) (wire.About, error) {
	return ask[wire.About](ctx, c, http.MethodGet, "/v1/version", nil, nil)
}

// ShutDown ends the daemon and returns the processes that could not be stopped.
// Jobs live on if r.KeepJobs says so.
func (c *Client) ShutDown(ctx context.Context, r messages.ShutdownNode) ([]messages.Survivor, error) {
	body := wire.ShutDown{StopJobs: !r.KeepJobs, Grace: wire.GraceMS(r.Grace), Reason: r.Reason}
	out, err := ask[wire.ShutdownResult](ctx, c, http.MethodPost, "/v1/shutdown", nil, body)
	return out.Survivors, err
}
