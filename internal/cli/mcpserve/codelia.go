package mcpserve

import (
	"context"
	"slices"
	"sync"

	"troupe/internal/cli/dialectconfig"
	"troupe/internal/cli/dialecthost"
	"troupe/internal/dialect/codelia"
	"troupe/internal/gateway/mcp"
)

// codelia builds the dialect of codelia: the shell family, and the tools that read cached
// outputs. Hosts of MCP confirm commands themselves.
func (s *dialectFactory) codelia() (*mcp.Dialect, error) {
	o := dialectconfig.CodeliaOptions(s.at, s.dir, s.env, s.log)
	o.PassEnv = slices.Concat(o.PassEnv, s.pass)
	var orphans sync.Once
	return &mcp.Dialect{
		Tools: codelia.New(o).Tools(),
		Open: func(at mcp.Place) (mcp.Session, error) {
			own := o
			own.Host, own.Beside, own.Scope, own.SessionID, own.Files = at.Host, at.Beside, at.Scope, at.Name, s.files.Open(at.Name)
			orphans.Do(func() { // of servers that have died
				at.Beside.Go(func() {
					if _, err := codelia.EndOrphans(context.Background(), at.Host, s.scope, dialecthost.OwnerLives); err != nil {
						s.log.Warn("tasks of dead servers could not be ended", "error", err)
					}
				})
			})
			return codelia.New(own), nil
		},
	}, nil
}
