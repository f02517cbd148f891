package client

import (
	"context"

	"troupe/internal/api"
)

// Stats returns the daemon's counts of jobs, sessions and scopes, among others.
func (c *Client) Stats(ctx context.Context) (api.Stats, error) {
	return get[api.Stats](ctx, c, "/v1/stats")
}

// Problems returns what is wrong with a daemon that answers.
func (c *Client) Problems(ctx context.Context) (api.Health, error) {
	return get[api.Health](ctx, c, "/v1/health")
}

// Version returns the daemon's version and identity.
func (c *Client) Version(ctx context.Context) (api.About, error) {
	return get[api.About](ctx, c, "/v1/version")
}
