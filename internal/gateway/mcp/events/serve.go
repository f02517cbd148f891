package events

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/gateway/mcp/relay"
)

// Bounds of a server; a zero option means the bound here.
const (
	// DefaultMaxEvents bounds a page: it is more than a model reads at once.
	DefaultMaxEvents = 100
	// DefaultMaxStreams bounds the open streams of a client. There are fewer event types.
	DefaultMaxStreams = 32
	// DefaultHeartbeat is half of the longest interval that the extension allows.
	DefaultHeartbeat = 15 * time.Second
)

// Options configure Serve.
type Options struct {
	Source     Source
	Relay      *Relay
	MaxEvents  int           // of a page; a client may ask for fewer
	MaxStreams int           // open at a time
	Heartbeat  time.Duration // interval of the heartbeats of a stream
}

// service has the methods of the extension for one server.
type service struct {
	Options
	types   []Type
	streams chan struct{} // one entry for each open stream
}

// Serve adds the extension to a server. Call it once, before the server is connected. The
// extension is defined for revision 2026-07-28 and later; older ones, most clients speak
// them, are served in the same way.
func Serve(server *mcp.Server, o Options) error {
	o.MaxEvents = cmp.Or(o.MaxEvents, DefaultMaxEvents)
	o.MaxStreams = cmp.Or(o.MaxStreams, DefaultMaxStreams)
	o.Heartbeat = cmp.Or(o.Heartbeat, DefaultHeartbeat)
	s := &service{Options: o, types: slices.Clone(o.Source.Types()), streams: make(chan struct{}, o.MaxStreams)}
	for i := range s.types {
		s.types[i].Delivery = delivery
	}
	err := errors.Join(
		mcp.AddReceivingCustomMethod(server, listMethod, s.list),
		mcp.AddReceivingCustomMethod(server, pollMethod, s.poll),
		mcp.AddReceivingCustomMethod(server, streamMethod, s.stream),
		mcp.AddReceivingCustomMethod(server, subscribeMethod, s.subscribe),
		mcp.AddReceivingCustomMethod(server, unsubscribeMethod, s.unsubscribe),
	)
	if err != nil {
		return err
	}
	server.AddReceivingMiddleware(s.middleware)
	server.AddSendingMiddleware(relay.Sending)
	return nil
}

// middleware declares the extension, and checks the requests for events.
func (s *service) middleware(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		switch p := r.GetParams().(type) {
		case *pollParams:
			if p != nil {
				return s.checked(ctx, method, r, &p.request, next)
			}
		case *streamParams:
			if p == nil {
				break
			}
			select { // before the source is asked: each stream asks it
			case s.streams <- struct{}{}:
				defer func() { <-s.streams }()
				return s.checked(ctx, method, r, &p.request, next)
			default:
				return nil, fault(codeExhausted, fmt.Sprintf("limit of %d streams at a time reached; cancel one", s.MaxStreams),
					map[string]any{"limit": "subscriptions", "max": s.MaxStreams})
			}
		}
		result, err := next(ctx, method, r)
		switch found := result.(type) {
		case *mcp.InitializeResult:
			if err == nil {
				extended := *found
				extended.Capabilities = declared(found.Capabilities)
				return &extended, nil
			}
		case *mcp.DiscoverResult:
			if err == nil {
				extended := *found
				extended.Capabilities = declared(found.Capabilities)
				return &extended, nil
			}
		}
		return result, err
	}
}

// checked serves a request for events whose parameters the source accepts.
func (s *service) checked(ctx context.Context, method string, r mcp.Request, asked *request, next mcp.MethodHandler) (mcp.Result, error) {
	q, err := s.query(asked)
	if err == nil {
		q.Query, err = s.Source.Check(ctx, r, q.Query)
	}
	if err != nil {
		return nil, refusal(err)
	}
	return next(context.WithValue(ctx, queryKey{}, q), method, r)
}

// declared returns the capabilities of a server with the extension.
func declared(can *mcp.ServerCapabilities) *mcp.ServerCapabilities {
	extended := mcp.ServerCapabilities{}
	if can != nil {
		extended = *can
	}
	extended.Extensions = maps.Clone(extended.Extensions)
	extended.AddExtension(Extension, nil)
	return &extended
}

// query is a checked request for events.
type query struct {
	Query
	floor time.Time // earlier events are skipped; zero: none
}

// queryKey is the context key of the query of a request.
type queryKey struct{}

// query checks the parameters of a request.
func (s *service) query(p *request) (query, error) {
	q := query{Query: Query{Type: p.Name, Max: s.MaxEvents}}
	if err := s.known(p.Name); err != nil {
		return q, err
	}
	if args := bytes.TrimSpace(p.Arguments); len(args) > 0 && !bytes.Equal(args, []byte("null")) {
		var object map[string]json.RawMessage
		if json.Unmarshal(args, &object) != nil {
			return q, InvalidParams("arguments must be an object")
		}
		q.Arguments = p.Arguments
	}
	if p.MaxEvents != nil {
		if *p.MaxEvents < 1 {
			return q, InvalidParams("maxEvents must be at least 1")
		}
		q.Max = min(q.Max, *p.MaxEvents)
	}
	switch {
	case p.MaxAgeMs != nil && *p.MaxAgeMs < 0:
		return q, InvalidParams("maxAgeMs must not be negative")
	case p.Cursor == nil:
		return q, nil
	case *p.Cursor == "":
		return q, InvalidParams("cursor is empty; use null to begin now")
	}
	q.Cursor = *p.Cursor
	if p.MaxAgeMs != nil {
		const longest = math.MaxInt64 / int64(time.Millisecond)
		q.floor = time.Now().Add(-time.Duration(min(*p.MaxAgeMs, longest)) * time.Millisecond)
	}
	return q, nil
}

// known returns an error for a name that no event type has.
func (s *service) known(name string) error {
	if !slices.ContainsFunc(s.types, func(t Type) bool { return t.Name == name }) {
		return NotFound("event", fmt.Sprintf("unknown event type %.64q; events/list names them", name))
	}
	return nil
}

// list serves events/list. The types are one page.
func (s *service) list(_ context.Context, _ *mcp.ServerSession, p *listParams) (*listResult, error) {
	if p != nil && p.Cursor != nil && *p.Cursor != "" {
		return nil, InvalidParams("unknown cursor: events/list has one page")
	}
	return &listResult{ResultType: complete, Events: s.types}, nil
}

// poll serves events/poll.
func (s *service) poll(ctx context.Context, _ *mcp.ServerSession, _ *pollParams) (*pollResult, error) {
	q, ok := ctx.Value(queryKey{}).(query)
	if !ok {
		return nil, InvalidParams("name is missing; events/list has the names")
	}
	page, err := s.read(ctx, q)
	if err != nil {
		return nil, refusal(err)
	}
	r := &pollResult{
		ResultType: complete, Events: make([]occurrence, 0, len(page.Events)), Cursor: page.Next,
		Truncated: page.Truncated, HasMore: page.More, NextPollMs: nextPoll.Milliseconds(),
	}
	for _, e := range page.Events {
		r.Events = append(r.Events, occurs(q.Type, e))
	}
	return r, nil
}

// read reads a page that has events, or is the last one. Events before the floor count as
// skipped.
func (s *service) read(ctx context.Context, q query) (Page, error) {
	truncated := false
	for {
		page, err := s.Source.Read(ctx, q.Query)
		if err != nil {
			return page, err
		}
		old := 0
		for old < len(page.Events) && page.Events[old].At.Before(q.floor) {
			page.Start = page.Events[old].Cursor
			old++
		}
		page.Events = page.Events[old:]
		truncated = truncated || page.Truncated || old > 0
		if len(page.Events) > 0 || !page.More {
			page.Truncated = truncated
			return page, nil
		}
		q.Cursor = page.Next
	}
}

// subscribe refuses delivery to a webhook.
func (s *service) subscribe(_ context.Context, _ *mcp.ServerSession, p *subscribeParams) (*streamResult, error) {
	if p == nil {
		return nil, InvalidParams("name is missing; events/list has the names")
	}
	if err := s.known(p.Name); err != nil {
		return nil, err
	}
	return nil, fault(codeUnsupported, "events are not delivered to webhooks; use events/poll or events/stream",
		map[string]any{"feature": "deliveryMode", "value": "webhook"})
}

// unsubscribe finds no subscription, since there are none.
func (s *service) unsubscribe(context.Context, *mcp.ServerSession, *subscribeParams) (*streamResult, error) {
	return nil, NotFound("subscription", "there is no such subscription: events are not delivered to webhooks")
}

// refusal returns an error of the source as a protocol error.
func refusal(err error) *jsonrpc.Error {
	if e, ok := errors.AsType[*jsonrpc.Error](err); ok {
		return e
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: err.Error()}
}
