package client

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"reflect"

	"troupe/host"
	"troupe/internal/api"
	"troupe/messages"
)

// Host returns the daemon as the interface that a node in this process has, too.
func (c *Client) Host() host.Host { return daemonHost{c} }

// daemonHost implements host.Host.
type daemonHost struct{ client *Client }

// Do implements host.Host. It sends each request by its own route.
func (h daemonHost) Do(ctx context.Context, request messages.Refusable) (any, error) {
	switch r := request.(type) {
	case messages.RunCommand:
		result, err := h.client.Run(ctx, r)
		return messages.JobFound{Job: result.Job}, err
	case messages.WaitJobs:
		return host.Reply(h.client.await(ctx, r))
	case messages.StopCommand:
		if r.Job != "" {
			r.Scope, r.Session, request = "", "", r // the path names the job
		}
	}
	reply, err := h.client.send(ctx, request)
	if plain, had := withoutLive(request); had && errors.Is(err, noLive) {
		return h.client.send(ctx, plain)
	}
	return reply, err
}

// noLive is the error of a daemon of an older build, which cannot tell the live states of jobs.
var noLive = &messages.Error{Code: messages.Unsupported, Reason: "live"}

// withoutLive returns a request that does not ask for live states, and whether it did.
func withoutLive(request messages.Refusable) (plain messages.Refusable, had bool) {
	switch r := request.(type) {
	case messages.FindJob:
		had, r.Live = r.Live, false
		return r, had
	case messages.ListJobs:
		had, r.Live = r.Live, false
		return r, had
	}
	return request, false
}

// send sends a request by its route and returns its reply. A request that can be repeated comes
// back to the next daemon.
func (c *Client) send(ctx context.Context, request any) (any, error) {
	route, found := api.Of(request)
	if !found {
		return nil, &messages.Error{
			Code: messages.Unsupported, Reason: "request", Message: fmt.Sprintf("%T has no route to the daemon", request), Hint: "use a node in this process",
		}
	}
	if !repeats(route, request) {
		return c.once(ctx, route, request)
	}
	return returning(ctx, c, func() (any, error) { return c.once(ctx, route, request) })
}

// repeats reports whether a request can be sent again. An input without bytes only asks how far
// the input has come.
func repeats(route api.Route, request any) bool {
	input, is := request.(messages.WriteInput)
	return route.Repeats || is && len(input.Data)+len(input.Keys)+len(input.Paste) == 0
}

// once sends a request to one daemon.
func (c *Client) once(ctx context.Context, route api.Route, request any) (any, error) {
	r, err := c.routed(ctx, route, request)
	if err != nil {
		return nil, err
	}
	reply := reflect.New(reflect.TypeOf(route.Reply))
	if err := c.fetch(r, reply.Interface()); err != nil {
		return nil, err
	}
	api.Complete(reply.Elem(), request)
	return reply.Elem().Interface(), nil
}

// Output implements host.Host.
func (h daemonHost) Output(ctx context.Context, job messages.JobID, stream messages.Stream, from int64) (host.Reader, error) {
	o, err := h.client.Output(ctx, job, Range{Stream: stream, Offset: from, Follow: true})
	if err != nil {
		return nil, err
	}
	return outputReader{o}, nil
}

// outputReader implements host.Reader.
type outputReader struct{ *Output }

// Offset implements host.Reader.
func (r outputReader) Offset() int64 { return r.what.Offset }

// Gaps implements host.Reader.
func (r outputReader) Gaps() []messages.OutputGap { return r.gaps }

// Events implements host.Host.
func (h daemonHost) Events(ctx context.Context, r messages.Subscribe) iter.Seq2[messages.Notification, error] {
	return func(yield func(messages.Notification, error) bool) {
		for e, err := range h.client.Events(ctx, r) {
			if err != nil {
				yield(messages.Notification{}, err)
				return
			}
			if fact := e.Fact(); fact != nil && !yield(messages.Notification{Seq: e.Seq, Fact: fact, Origin: e.Origin}, nil) {
				return
			}
		}
	}
}
