package rpcserve

import (
	"context"
	"io"

	"troupe/internal/cli/dialectconfig"
	"troupe/internal/cli/dialecthost"
	dialect "troupe/internal/dialect/codelia"
	gateway "troupe/internal/gateway/codelia"
)

// codelia speaks the protocol of codelia.
func codelia(ctx context.Context, c *client, in io.Reader, out io.Writer) error {
	o := dialectconfig.CodeliaOptions(c.at, c.dir, c.env, c.log)
	o.Host, o.Beside, o.Scope, o.SessionID, o.Files = c.host, &c.work, c.scope, c.name, c.files.Open(c.name)
	return gateway.Serve(ctx, in, out, gateway.Options{
		Version: c.version, Log: c.log,
		Open: func(confirm gateway.Confirm) *dialect.Session {
			if asks := c.at.Codelia.Confirm; asks == nil || *asks {
				o.Confirm = confirm
			}
			return dialect.New(o)
		},
	})
}

// endOrphans stops the tasks that dead servers have left.
func (s *server) endOrphans(ctx context.Context) {
	n, err := dialect.EndOrphans(ctx, s.host, s.scope, dialecthost.OwnerLives)
	if err != nil && ctx.Err() == nil {
		s.log.Warn("tasks of dead servers could not be ended", "error", err)
	}
	if n > 0 {
		s.log.Info("tasks of dead servers were ended", "tasks", n)
	}
}
