package mcp

import (
	"context"
	"net/url"

	sdk "github.com/modelcontextprotocol/go-sdk/mcp"
)

// The messages behind which a subscription is there: the reply to a request of the
// older revisions, and what is sent first on a stream of the newer ones.
const (
	subscribeMethod = "resources/subscribe"
	listenAcked     = "notifications/subscriptions/acknowledged"
)

// subscribed notes what is subscribed to, and hears of all that happens from now on.
func (c *client) subscribed(ctx context.Context, req *sdk.SubscribeRequest) error {
	if err := c.enter(ctx, req.ClientInfo); err != nil {
		return err
	}
	c.mu.Lock()
	c.fresh = append(c.fresh, req.Params.URI)
	c.mu.Unlock()
	return c.listen(ctx, true)
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
			fresh := c.fresh
			c.fresh = nil
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
		if job, err := c.own(c.over, u.Host); err == nil && job.State.Ended() {
			_ = c.sdk.ResourceUpdated(c.over, &sdk.ResourceUpdatedNotificationParams{URI: uri}) // who does not listen has left
		}
	}
}
