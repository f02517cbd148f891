package web

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// callsKey is the context key of the life of a session's calls.
type callsKey struct{}

// EndCalls ends a call with its session; add it as a receiving middleware. Otherwise the
// call would outlive its client and delay the end of the session. Without sessions a
// call ends with its request.
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
