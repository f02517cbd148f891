package troupe

import (
	"context"

	"troupe/internal/node"
)

// Node is a supervisor tree in this process.
type Node = node.Node

// Options configure a node. The zero value is a node for a library host.
type Options = node.Options

// Open starts a node and returns when it takes requests.
func Open(ctx context.Context, o Options) (*Node, error) { return node.Open(ctx, o) }
