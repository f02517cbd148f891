package client

import (
	"context"
	"errors"
	"io"
	"net/http"
	"path"
	"sync/atomic"

	"troupe/internal/api"
	"troupe/messages"
)

// Lease is a scope that ends with End, Close or the death of this process, and everything in
// it except kept jobs (messages.Record.Kept). A daemon that shuts down keeps the jobs; ask the
// next daemon for the lease again.
type Lease struct {
	client *Client
	id     string
	reply  *http.Response
	ended  atomic.Bool
}

// Lease opens a scope and holds it until the end of ctx. An open scope keeps its quota. A
// scope with several leases ends with the last of them.
func (c *Client) Lease(ctx context.Context, r messages.OpenScope) (*Lease, error) {
	request, err := c.routed(ctx, api.Named("lease"), r)
	if err != nil {
		return nil, err
	}
	reply, err := c.do(request)
	if err != nil {
		return nil, err
	}
	return &Lease{client: c, id: path.Base(reply.Header.Get("Location")), reply: reply}, nil
}

// Wait returns at the end of the lease: nil after End, else the reason, such as the end of
// the daemon, of the connection or of ctx. Call it once.
func (l *Lease) Wait() error {
	_, err := io.Copy(io.Discard, l.reply.Body)
	if l.ended.Load() {
		return nil
	}
	return err
}

// End ends the lease and returns when the scope has ended except for kept jobs and survivors.
// grace and reason are those of CloseScope. Other leases of the scope keep it open. A lease
// that has ended is no error.
func (l *Lease) End(ctx context.Context, r messages.CloseScope) (messages.ScopeReleased, error) {
	reply, err := l.client.send(ctx, api.EndLease{ID: l.id, Grace: r.Grace, Reason: r.Reason})
	if errors.Is(err, &messages.Error{Code: messages.NotFound}) {
		err = nil
	}
	l.ended.Store(err == nil)
	left, _ := reply.(messages.ScopeReleased)
	left.Path = r.Path
	return left, errors.Join(err, l.Close())
}

// Close drops the lease without waiting: the daemon ends the scope afterwards.
func (l *Lease) Close() error { return l.reply.Body.Close() }
