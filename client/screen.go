package client

import (
	"context"
	"net/http"

	"troupe/internal/gateway/http/wire"
	"troupe/messages"
)

// Screen reads what the terminal of a job shows. A job without one is refused with the code
// unsupported.
func (c *Client) Screen(ctx context.Context, id messages.JobID) (wire.Screen, error) {
	return ask[wire.Screen](ctx, c, http.MethodGet, of(id, "screen"), nil, nil)
}
