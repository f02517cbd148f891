package http

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"sync"

	"github.com/oklog/ulid/v2"

	"troupe/internal/api"
	"troupe/messages"
)

// scopeLease is a scope that clients lease. It ends with the last lease. The server's
// lock guards it.
type scopeLease struct {
	tenants int
	opened  bool          // one of the leases has opened the scope
	ending  chan struct{} // closed when the current end is complete; nil: not ending
}

// leaseHolder is one lease of a scope.
type leaseHolder struct {
	id    string
	path  messages.ScopePath
	door  *clientConn
	ends  bool          // the lease is ending and starts nothing more; the server's lock guards it
	over  chan struct{} // closed when the lease has ended, with the scope if it was the last
	once  sync.Once     // ends the lease
	left  messages.ScopeReleased
	error error
}

// clientGone is the reason for the end of a scope whose client disconnected without
// leaving.
const clientGone = "its client has gone"

// lease opens a scope and holds it while the request is open. When the client
// disconnects, the scope is released. The end of the server does not release it.
func (c *request) lease() error {
	r, err := read[messages.OpenScope](c)
	if err != nil {
		return err
	}
	if r.Path == messages.MainScope {
		return messages.Invalid("path", "cannot lease the scope main, which all clients share; lease one of your own, at or below another path")
	}
	ctx, cancel := c.stream()
	defer cancel()
	t, err := c.acquireLease(ctx, r)
	if err != nil {
		return err
	}
	c.w.Header().Set("Content-Type", "text/plain")
	c.w.Header().Set("Location", "/v1/leases/"+t.id)
	c.w.WriteHeader(http.StatusOK)
	if http.NewResponseController(c.w).Flush() == nil {
		select {
		case <-t.over:
			return errAnswered
		case <-ctx.Done():
		}
	}
	if c.closing.Err() != nil {
		panic(http.ErrAbortHandler) // the client asks the next daemon for the lease
	}
	c.releaseLease(t, messages.ReleaseScope{Path: t.path, Reason: clientGone})
	if t.error != nil {
		c.log.Warn("cannot release the scope of a disconnected client", "scope", t.path, "error", t.error)
	}
	return errAnswered
}

// acquireLease takes a lease. It waits while the scope is being released.
func (c *request) acquireLease(ctx context.Context, r messages.OpenScope) (*leaseHolder, error) {
	h, err := c.tenancyOf(ctx, r.Path)
	if err != nil {
		return nil, err
	}
	t := &leaseHolder{id: ulid.Make().String(), path: r.Path, door: c.door(), over: make(chan struct{})}
	t.door.noteLeased(r.Path)
	r.Join = true // whatever the request says: an open scope keeps its quota
	_, err = ask(c, r)
	c.mu.Lock()
	h.opened = h.opened || err == nil || c.ctx.Err() != nil // a request cut off by a disconnect may have opened it
	if err == nil {
		c.tenants[t.id] = t
	}
	c.mu.Unlock()
	if err != nil && c.closing.Err() == nil { // the end of the server releases nothing
		c.releaseLease(t, messages.ReleaseScope{Path: t.path, Reason: clientGone})
	}
	return t, err
}

// tenancyOf counts one more lease of a scope.
func (c *request) tenancyOf(ctx context.Context, path messages.ScopePath) (*scopeLease, error) {
	for {
		c.mu.Lock()
		h := c.tenancies[path]
		if h == nil {
			h = &scopeLease{}
			c.tenancies[path] = h
		}
		ending := h.ending
		if ending == nil {
			h.tenants++
		}
		c.mu.Unlock()
		if ending == nil {
			return h, nil
		}
		select {
		case <-ending:
		case <-ctx.Done():
			return nil, ctx.Err()
		}
	}
}

// releaseLease ends a lease once and returns when it has ended. After the last lease
// everything in the scope has ended, except kept jobs. A repeated call returns after
// the same end.
func (c *request) releaseLease(t *leaseHolder, r messages.ReleaseScope) {
	t.once.Do(func() {
		c.mu.Lock()
		h := c.tenancies[t.path]
		t.ends = true
		h.tenants--
		last := h.tenants == 0
		if last {
			h.ending = make(chan struct{})
		}
		c.mu.Unlock()
		if last && h.opened { // otherwise no client had it
			t.door.noteScopeLeft(t.path)
			t.left, t.error = c.leaveScope(r)
		}
		c.mu.Lock()
		if last {
			delete(c.tenancies, t.path)
			close(h.ending)
		}
		delete(c.tenants, t.id)
		c.mu.Unlock()
		close(t.over)
	})
}

// leaveScope ends what a client leaves, whether or not the client still waits.
func (c *request) leaveScope(r messages.ReleaseScope) (messages.ScopeReleased, error) {
	left := messages.ScopeReleased{Path: r.Path}
	reply, err := c.node.AskAgain(context.WithoutCancel(c.ctx), func() messages.Refusable { return r })
	switch m := reply.(type) {
	case nil:
		return left, err
	case messages.ScopeReleased:
		return m, nil
	case messages.ScopeClosed:
		left.Jobs, left.Survivors = m.Jobs, m.Survivors
		return left, nil
	}
	if err := unexpectedReply(reply); !errors.Is(err, &messages.Error{Code: messages.NotFound}) {
		return left, err
	}
	return left, nil // another client has closed it
}

// releaseScope ends a scope as the end of a lease does. It answers when only kept jobs
// are left.
func (c *request) releaseScope() error {
	r, err := read[messages.ReleaseScope](c)
	if err != nil {
		return err
	}
	if r.Path == messages.MainScope {
		return messages.Invalid("path", "cannot leave the scope main, which all clients share")
	}
	left, err := c.leaveScope(r)
	if err != nil {
		return err
	}
	return c.replyLeft(left)
}

func (c *request) replyLeft(left messages.ScopeReleased) error {
	if err := c.awaitNews(left.Jobs); err != nil {
		return err
	}
	return c.reply(http.StatusOK, left)
}

// endLease ends a lease for any client that knows its id. It answers when only kept
// jobs are left.
func (c *request) endLease() error {
	r, err := read[api.EndLease](c)
	if err != nil {
		return err
	}
	c.mu.Lock()
	t := c.tenants[r.ID]
	c.mu.Unlock()
	if t == nil || c.root != "" && !c.root.Contains(t.path) {
		return &messages.Error{Code: messages.NotFound, Reason: "lease", Message: "unknown lease; it may have ended with its request"}
	}
	c.releaseLease(t, messages.ReleaseScope{Path: t.path, Grace: r.Grace, Reason: cmp.Or(r.Reason, "its client has left")})
	if t.error != nil {
		return t.error
	}
	return c.replyLeft(t.left)
}
