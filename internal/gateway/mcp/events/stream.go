package events

import (
	"context"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/gateway/mcp/relay"
)

// stream is one open events/stream request.
type stream struct {
	*service
	session *mcp.ServerSession
	query   query
	meta    map[string]any // of every notification: the id of the request
	failing bool           // the last read has failed
}

// stream serves events/stream. It returns when the client cancels the request, when its
// connection ends, or when the server does. It holds at most one page of events: the next one
// is read when the client has taken them.
func (s *service) stream(ctx context.Context, session *mcp.ServerSession, p *streamParams) (*streamResult, error) {
	q, ok := ctx.Value(queryKey{}).(query)
	if !ok {
		return nil, InvalidParams("name is missing; events/list has the names")
	}
	id := p.Meta[idKey]
	if id == nil {
		return nil, fault(jsonrpc.CodeInvalidRequest, "send events/stream as a message of its own, not in a batch", nil)
	}
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if name, _ := p.Meta[connectionKey].(string); name != "" {
		connection := s.Relay.connection(name)
		if connection == nil {
			return nil, context.Canceled // it has ended already
		}
		defer context.AfterFunc(connection, cancel)()
	}
	st := &stream{service: s, session: session, query: q, meta: map[string]any{mcp.MetaKeySubscriptionID: id}}
	if err := st.run(ctx); err != nil {
		return nil, refusal(err)
	}
	end := &streamResult{ResultType: complete}
	end.Meta = mcp.Meta{mcp.MetaKeySubscriptionID: id}
	return end, nil
}

// run confirms the stream and delivers events until ctx ends or the client is gone. An
// error before the confirmation answers the request.
func (s *stream) run(ctx context.Context) error {
	changed, stop := s.Source.Watch()
	defer stop()
	page, err := s.page(ctx)
	if err != nil {
		return err
	}
	s.query.floor = time.Time{}
	if s.active(ctx, page) != nil || s.deliver(ctx, page) != nil {
		return nil
	}
	beat := time.NewTicker(s.Heartbeat)
	defer beat.Stop()
	for more := page.More; ; {
		beats := false
		if !more {
			select {
			case <-changed:
			case <-beat.C:
				beats = true
			case <-ctx.Done():
				return nil
			}
		}
		if more, err = s.next(ctx, beats); err != nil {
			return nil // the client is gone
		}
	}
}

// page reads the next page. It follows the source before, so that no later event is missed.
func (s *stream) page(ctx context.Context) (Page, error) {
	if err := s.Source.Follow(ctx, s.query.Query); err != nil {
		return Page{}, err
	}
	return s.read(ctx, s.query)
}

// next reads and delivers a page, and sends a heartbeat after it if one is due. The error is
// that of a send.
func (s *stream) next(ctx context.Context, beats bool) (more bool, err error) {
	page, failed := s.page(ctx)
	switch {
	case failed != nil:
		err = s.fails(ctx, failed)
	case page.Truncated:
		err = s.active(ctx, page)
	}
	if failed == nil && err == nil {
		s.failing = false
		err = s.deliver(ctx, page)
	}
	if beats && err == nil {
		err = s.send(ctx, heartbeatNotice, position{Cursor: s.query.Cursor, Meta: s.meta})
	}
	return failed == nil && page.More, err
}

// active confirms the stream, and reports a gap.
func (s *stream) active(ctx context.Context, page Page) error {
	return s.send(ctx, activeNotice, position{Cursor: page.Start, Truncated: &page.Truncated, Meta: s.meta})
}

// deliver sends the events of a page. The cursor moves on with each.
func (s *stream) deliver(ctx context.Context, page Page) error {
	for _, e := range page.Events {
		o := occurs(s.query.Type, e)
		o.position = position{Cursor: e.Cursor, Meta: s.meta}
		if err := s.send(ctx, eventNotice, o); err != nil {
			return err
		}
		s.query.Cursor = e.Cursor
	}
	s.query.Cursor = page.Next
	return nil
}

// fails reports that the events cannot be read, once until they can.
func (s *stream) fails(ctx context.Context, why error) error {
	if s.failing || ctx.Err() != nil {
		return ctx.Err()
	}
	s.failing = true
	return s.send(ctx, errorNotice, trouble{Error: refusal(why), Meta: s.meta})
}

func (s *stream) send(ctx context.Context, method string, params any) error {
	if err := ctx.Err(); err != nil {
		return err
	}
	return relay.Notify(ctx, s.session, method, params)
}
