package web

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callsKey is where the requests of a session find the life of its calls.
type callsKey struct{}

// EndCalls is a receiving middleware: a call ends with its session, however
// that ends. Without it a call outlives the session that nobody can ask any
// more, and whoever ends the session waits for it. Where there are no sessions
// a call ends with its request, which needs no help.
func EndCalls(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		calls, ok := ctx.Value(callsKey{}).(context.Context)
		if !ok {
			return next(ctx, method, req)
		}
		ctx, cancel := context.WithCancel(ctx)
		defer cancel()
		defer context.AfterFunc(calls, cancel)()
		return next(ctx, method, req)
	}
}
