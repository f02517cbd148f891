package http

import (
	"net/http"
	"reflect"

	"troupe/messages"
)

// pass sends the request to the node as it is, within what its client may use, and sends the
// reply.
func (c *request) pass() error {
	asked, err := c.asked()
	if err != nil {
		return err
	}
	return c.answer(asked)
}

// answer sends a request to the node, and its reply.
func (c *request) answer(asked any) error {
	reply, err := c.do(asked)
	if err != nil {
		return err
	}
	return c.reply(http.StatusOK, reply)
}

// do returns the reply of the route to a request. Records in it have ended if the reply says so,
// and have the sizes of their outputs.
func (c *request) do(asked any) (any, error) {
	request, is := asked.(messages.Refusable)
	if !is {
		return nil, unexpectedReply(asked)
	}
	reply, err := c.node.Ask(c.ctx, request)
	if err != nil {
		return nil, err
	}
	if reflect.TypeOf(reply) != reflect.TypeOf(c.route.Reply) {
		return nil, unexpectedReply(reply)
	}
	switch m := reply.(type) {
	case messages.CommandStopped:
		err = c.awaitNews(m.Jobs)
	case messages.ScopeClosed:
		err = c.awaitNews(m.Jobs)
	case messages.CommandPromoted:
		m.Job = c.setSizes([]messages.Record{m.Job})[0]
		reply = m
	case messages.WaitEnded:
		m.Jobs = c.setSizes(m.Jobs)
		reply = m
	}
	return reply, err
}

// asked returns what the route asks for, checked and within what its client may use.
func (c *request) asked() (any, error) {
	asked, err := c.decoded(maxBody)
	if err != nil {
		return nil, err
	}
	if checked, is := asked.(interface{ Check() *messages.Error }); is {
		if bad := checked.Check(); bad != nil {
			return nil, bad
		}
	}
	return c.confined(asked)
}

// read returns the request of a route as its type.
func read[R any](c *request) (R, error) {
	asked, err := c.asked()
	r, _ := asked.(R)
	return r, err
}

// decoded returns the request of the route as it was sent.
func (c *request) decoded(most int64) (asked any, err error) {
	if !c.route.HasBody() {
		return c.route.Read(c.r, c.query, nil)
	}
	err = c.body(most, func(b []byte) error {
		asked, err = c.route.Read(c.r, c.query, b)
		return err
	})
	return asked, err
}

// confined returns a request with the names of jobs and scopes as its client may use them, and
// with the client as its principal. It refuses other scopes, whatever the request is.
func (c *request) confined(asked any) (any, error) {
	of := reflect.New(reflect.TypeOf(asked)).Elem()
	of.Set(reflect.ValueOf(asked))
	ofJob := false
	for _, f := range reflect.VisibleFields(of.Type()) {
		if !f.IsExported() {
			continue
		}
		switch field := of.FieldByIndex(f.Index).Addr().Interface().(type) {
		case *messages.Principal:
			*field = c.principal()
		case *messages.JobID:
			if *field != "" {
				ofJob, *field = true, c.job(*field)
			}
		case *[]messages.JobID:
			for i, id := range *field {
				(*field)[i] = c.job(id)
			}
		case *messages.ScopePath:
			if ofJob && *field == "" { // the job is in a scope
				continue
			}
			path, refusal := c.scope(*field)
			if refusal != nil {
				return nil, refusal
			}
			*field = path
		}
	}
	return of.Interface(), nil
}

// scope returns the scope that a request means by a path. For none it is the only one that the
// client may use, or "".
func (c *request) scope(path messages.ScopePath) (messages.ScopePath, *messages.Error) {
	if path != "" {
		if err := path.Check(); err != nil {
			return "", err
		}
	}
	return c.inScope(path)
}
