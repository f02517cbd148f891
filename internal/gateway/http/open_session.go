package http

import (
	"cmp"
	"net/http"

	"troupe/messages"
)

func (c *request) openSession() error {
	r, err := read[messages.OpenSession](c)
	if err != nil {
		return err
	}
	if err := r.Session.Check(); err != nil { // the request must name it
		return err
	}
	r.Backend, r.Scope = cmp.Or(r.Backend, messages.BackendPipe), cmp.Or(r.Scope, messages.MainScope)
	return c.opens(r.Scope, r)
}

func (c *request) openScope() error {
	r, err := read[messages.OpenScope](c)
	if err != nil {
		return err
	}
	return c.opens(r.Path, r)
}

// opens sends a request that opens something in a scope.
func (c *request) opens(path messages.ScopePath, r any) error {
	var opened any
	if err := c.begin(path, func() (err error) { opened, err = c.do(r); return err }); err != nil {
		return err
	}
	return c.reply(http.StatusOK, opened)
}

// closeSession closes a session and its jobs. It answers when they have ended.
func (c *request) closeSession() error {
	r, err := read[messages.CloseSession](c)
	if err != nil {
		return err
	}
	r.Scope = cmp.Or(r.Scope, messages.MainScope)
	return c.answer(r)
}
