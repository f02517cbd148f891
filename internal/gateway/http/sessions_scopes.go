package http

import (
	"cmp"
	"net/http"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

func (c *request) sessions() error {
	scope, err := c.scope("scope")
	if err != nil {
		return err
	}
	recent, err := c.flag("recent")
	if err != nil {
		return err
	}
	list, err := ask(c, messages.ListSessions{Scope: scope, Recent: recent})
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.NewSessionList(list))
}

func (c *request) openSession() error {
	var r messages.OpenSession
	if err := c.body(&r, maxBody); err != nil {
		return err
	}
	if r.Backend == "" {
		r.Backend = messages.BackendPipe
	}
	if err := r.Session.Check(); err != nil { // the request must name it
		return err
	}
	var refusal *messages.Error
	if r.Scope, refusal = c.inScope(r.Scope); refusal != nil {
		return refusal
	}
	r.Scope = cmp.Or(r.Scope, messages.MainScope)
	if err := r.Scope.Check(); err != nil {
		return err
	}
	r.Principal = c.principal()
	var opened messages.SessionOpened
	if err := c.begin(r.Scope, func() (err error) { opened, err = ask(c, r); return err }); err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.SessionReply{V: wire.Version, Session: opened.Info})
}

// closeSession closes a session and its jobs. It answers when they have ended.
func (c *request) closeSession() error {
	scope, err := c.scope("scope")
	if err != nil {
		return err
	}
	scope = cmp.Or(scope, messages.MainScope)
	grace, err := c.grace()
	if err != nil {
		return err
	}
	closed, err := ask(c, messages.CloseSession{
		Scope: scope, Session: messages.SessionID(c.r.PathValue("session")), Grace: grace, Reason: c.text("reason"),
	})
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.Closed{
		V: wire.Version, Reason: closed.Reason, Jobs: []messages.JobID{}, Survivors: wire.List(closed.Survivors),
	})
}

func (c *request) scopes() error {
	path, err := c.scope("path")
	if err != nil {
		return err
	}
	list, err := ask(c, messages.ListScopes{Path: path})
	if err != nil {
		return err
	}
	out := wire.ScopeList{V: wire.Version, Scopes: []wire.Scope{}}
	for _, s := range list.Scopes {
		out.Scopes = append(out.Scopes, wire.Scope{Path: s.Path, Jobs: s.Jobs, Sessions: s.Sessions, Quota: wire.ScopeQuota(s.Quota)})
	}
	return c.reply(http.StatusOK, out)
}

func (c *request) openScope() error {
	var body wire.OpenScope
	if err := c.body(&body, maxBody); err != nil {
		return err
	}
	r, refusal := c.scopeOf(body)
	if refusal != nil {
		return refusal
	}
	var opened messages.ScopeOpened
	if err := c.begin(r.Path, func() (err error) { opened, err = ask(c, r); return err }); err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.ScopeReply{V: wire.Version, Path: opened.Path})
}

// scopeOf returns the scope that a body describes.
func (c *request) scopeOf(body wire.OpenScope) (messages.OpenScope, *messages.Error) {
	r := messages.OpenScope{Principal: c.principal(), Path: messages.ScopePath(body.Path), Quota: messages.ScopeQuota(body.Quota)}
	if err := r.Path.Check(); err != nil {
		return r, err
	}
	if _, err := c.inScope(r.Path); err != nil {
		return r, err
	}
	if r.Quota.Jobs < 0 || r.Quota.Sessions < 0 {
		return r, messages.Invalid("quota", "a quota must be positive, or 0 for no limit")
	}
	return r, nil
}

// closeScope closes a scope and everything in it. It answers when all has ended.
func (c *request) closeScope() error {
	path := messages.ScopePath(c.r.PathValue("path"))
	if err := path.Check(); err != nil {
		return err
	}
	if _, err := c.inScope(path); err != nil {
		return err
	}
	grace, err := c.grace()
	if err != nil {
		return err
	}
	closed, err := ask(c, messages.CloseScope{Path: path, Grace: grace, Reason: c.text("reason")})
	if err != nil {
		return err
	}
	if err := c.awaitNews(closed.Jobs); err != nil {
		return err
	}
	return c.reply(http.StatusOK, wire.Closed{
		V: wire.Version, Reason: closed.Reason, Jobs: wire.List(closed.Jobs), Survivors: wire.List(closed.Survivors),
	})
}
