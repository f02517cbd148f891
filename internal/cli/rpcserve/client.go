package rpcserve

import (
	"context"
	"errors"
	"io"
	"strings"
	"sync"

	"github.com/oklog/ulid/v2"

	"troupe/internal/dialect"
	"troupe/messages"
)

// client is one client. Its jobs end with it, except detached and promoted ones.
type client struct {
	*server
	name  string // the last name of its scope
	scope messages.ScopePath
	work  sync.WaitGroup // of its session; Serve waits for it
}

// serve serves one client from its first request to the end of its jobs.
func (s *server) serve(ctx context.Context, in io.Reader, out io.Writer) error {
	name := "client-" + strings.ToLower(ulid.Make().String())
	c := &client{server: s, name: name, scope: messages.ScopePath(string(s.scope) + "/" + name)}
	hold := &dialect.ScopeHold{Host: s.host, Path: c.scope}
	if err := hold.Take(ctx, &c.work); err != nil {
		return err
	}
	err := s.speak(ctx, c, in, out)
	err = errors.Join(err, hold.End())
	c.work.Wait()
	return err
}
