package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/url"
	"path"
	"sync/atomic"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// Lease is a scope that is ours until End, Close, or our death, however we die: it ends
// then with all that is in it, but for the jobs that are to be kept (messages.Job.Kept).
// A daemon that ends keeps the jobs: the next one is to be asked for the lease again.
type Lease struct {
	client *Client
	id     string
	reply  *http.Response
	ended  atomic.Bool
}

// Lease opens a scope and holds it; one that is open stays as it is, with the quota it
// has. One that several lease ends with the last of them. ctx ends the lease, too.
func (c *Client) Lease(ctx context.Context, r messages.OpenScope) (*Lease, error) {
	request, err := c.request(ctx, http.MethodPost, "/v1/leases", nil, wire.Lease{Path: string(r.Path), Quota: wire.ScopeQuota(r.Quota)})
	if err != nil {
		return nil, err
	}
	reply, err := c.do(request)
	if err != nil {
		return nil, err
	}
	return &Lease{client: c, id: path.Base(reply.Header.Get("Location")), reply: reply}, nil
}

// Wait returns when the lease is over: nil after End, else why, which is that the daemon
// has left, or what Close or the context did. It is called once.
func (l *Lease) Wait() error {
	_, err := io.Copy(io.Discard, l.reply.Body)
	if l.ended.Load() {
		return nil
	}
	return err
}

// End ends the lease and returns when nothing is left of the scope but what is to be
// kept and the survivors; grace and reason are those of CloseScope. Where the lease was
// not the last nothing ends. One that is over already is no error.
func (l *Lease) End(ctx context.Context, r messages.CloseScope) (messages.ScopeReleased, error) {
	query := url.Values{}
	if r.Reason != "" {
		query.Set("reason", r.Reason)
	}
	graceQuery(query, r.Grace)
	left, err := ask[wire.ScopeReleased](ctx, l.client, http.MethodDelete, "/v1/leases/"+url.PathEscape(l.id), query, nil)
	if errors.Is(err, &messages.Error{Code: messages.NotFound}) {
		err = nil
	}
	l.ended.Store(err == nil)
	return messages.ScopeReleased{Path: r.Path, Jobs: left.Jobs, Kept: left.Kept, Survivors: left.Survivors}, errors.Join(err, l.Close())
}

// ReleaseScope ends a scope as the end of its last lease does, and returns when nothing is left
// of it but what is to be kept and the survivors.
func (c *Client) ReleaseScope(ctx context.Context, r messages.CloseScope) (messages.ScopeReleased, error) {
	body := wire.Leave{Path: string(r.Path), Grace: wire.GraceMS(r.Grace), Reason: r.Reason}
	left, err := ask[wire.ScopeReleased](ctx, c, http.MethodPost, "/v1/leave", nil, body)
	return messages.ScopeReleased{Path: r.Path, Jobs: left.Jobs, Kept: left.Kept, Survivors: left.Survivors}, err
}

// Close lets go of the scope and waits for nothing: the daemon ends it behind us.
func (l *Lease) Close() error { return l.reply.Body.Close() }
