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

// The messages behind which a subscription is there: the reply to a request of the
// older revisions, and what is sent first on a stream of the newer ones.
const (
	subscribeMethod = "resources/subscribe"
	listenAcked     = "notifications/subscriptions/acknowledged"
)

// subscribed notes what is subscribed to, and hears of all that happens from now on. What
// would never be told of is refused: changes are told by the ids of jobs.
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
	told := u.Scheme + "://" + string(job.ID) + u.Path
	switch {
	case isCode(err, messages.NotFound) || isCode(err, messages.InvalidParams):
		return sdk.ResourceNotFoundError(uri)
	case err != nil:
		return err
	case !slices.Contains(uris(job), told):
		return sdk.ResourceNotFoundError(uri)
	case uri != told:
		return &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: fmt.Sprintf("changes of %s are told by the id of the job, and of the whole: subscribe to %s", core.Preview(uri), told)}
	}
	c.mu.Lock()
	c.newSubscriptions = append(c.newSubscriptions, req.Params.URI)
	c.mu.Unlock()
	return c.listen(ctx, true)
}

// uris are the resources of a job. Whether its streams will be apart is not known before
// it begins.
func uris(job messages.Job) []string {
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

// behindReply and behindAck tell of a job that has ended before it was subscribed to:
// its subscriber would wait for ever.
func (c *client) behindReply(next sdk.MethodHandler) sdk.MethodHandler {
	return c.behind(subscribeMethod, next)
}

func (c *client) behindAck(next sdk.MethodHandler) sdk.MethodHandler {
	return c.behind(listenAcked, next)
}

func (c *client) behind(message string, next sdk.MethodHandler) sdk.MethodHandler {
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
			_ = c.sdk.ResourceUpdated(c.ctx, &sdk.ResourceUpdatedNotificationParams{URI: uri}) // who does not listen has left
		}
	}
}
