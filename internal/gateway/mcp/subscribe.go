package mcp

import (
	"context"
	"fmt"
	"net/url"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	sdk "github.com/modelcontextprotocol/go-sdk/mcp"

	"troupe/internal/dialect/core"
	"troupe/messages"
)

// Messages after which a subscription is established: the reply to a request of older
// revisions, and the first message on a stream of newer ones.
const (
	subscribeMethod = "resources/subscribe"
	listenAcked     = "notifications/subscriptions/acknowledged"
)

// subscribed records a subscription and starts to follow all events. It refuses a URI
// that never changes: updates name jobs by id.
func (c *client) subscribed(ctx context.Context, req *sdk.SubscribeRequest) error {
	if err := c.enter(ctx, req.ClientInfo); err != nil {
		return err
	}
	uri := req.Params.URI
	u, err := url.Parse(uri)
	if err != nil {
		return sdk.ResourceNotFoundError(uri)
	}
	job, err := c.own(ctx, u.Host)
	changes := u.Scheme + "://" + string(job.ID) + u.Path
	switch {
	case isCode(err, messages.NotFound) || isCode(err, messages.InvalidParams):
		return sdk.ResourceNotFoundError(uri)
	case err != nil:
		return err
	case !slices.Contains(uris(job), changes):
		return sdk.ResourceNotFoundError(uri)
	case uri != changes:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("no updates are sent for %s: subscribe to %s", core.Preview(uri), changes)}
	}
	c.mu.Lock()
	c.newSubscriptions = append(c.newSubscriptions, req.Params.URI)
	c.mu.Unlock()
	return c.listen(ctx, true)
}

// uris returns the resources of a job. Before a job starts, its streams are unknown.
func uris(job messages.Record) []string {
	all := []string{core.Resource(job.ID)}
	for _, o := range job.Output {
		all = append(all, core.Artifact(job.ID, o.Stream))
	}
	if len(job.Output) == 0 && !job.State.Ended() {
		for _, stream := range []messages.Stream{messages.Merged, messages.Stdout, messages.Stderr} {
			all = append(all, core.Artifact(job.ID, stream))
		}
	}
	return all
}

// afterReply and afterAck notify a subscriber of jobs that ended before the
// subscription. Otherwise it would wait forever.
func (c *client) afterReply(next sdk.MethodHandler) sdk.MethodHandler {
	return c.afterMessage(subscribeMethod, next)
}

func (c *client) afterAck(next sdk.MethodHandler) sdk.MethodHandler {
	return c.afterMessage(listenAcked, next)
}

func (c *client) afterMessage(message string, next sdk.MethodHandler) sdk.MethodHandler {
	return func(ctx context.Context, method string, req sdk.Request) (sdk.Result, error) {
		result, err := next(ctx, method, req)
		if method == message && err == nil {
			c.mu.Lock()
			fresh := c.newSubscriptions
			c.newSubscriptions = nil
			c.mu.Unlock()
			if len(fresh) > 0 {
				c.work.Go(func() { c.alreadyOver(fresh) })
			}
		}
		return result, err
	}
}

func (c *client) alreadyOver(uris []string) {
	for _, uri := range uris {
		u, err := url.Parse(uri)
		if err != nil {
			continue
		}
		if job, err := c.own(c.ctx, u.Host); err == nil && job.State.Ended() {
			_ = c.sdk.ResourceUpdated(c.ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}) // fails only if the client has left
		}
	}
}
