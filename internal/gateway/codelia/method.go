package codelia

import (
	"context"
	"encoding/json"
	"errors"

	"troupe/internal/dialect"
	"troupe/internal/dialect/codelia"
	"troupe/internal/gateway/jsonrpc"
)

// method adapts a request of a session to its handler. Unknown parameters are refused: a
// misspelled one must not change what runs.
func method[P, R any](request func(context.Context, P) (R, error)) jsonrpc.Handler {
	return func(ctx context.Context, params json.RawMessage) (any, error) {
		var p P
		if bad := dialect.DecodeExact(params, &p); bad != nil {
			return nil, &jsonrpc.Error{Code: jsonrpc.CodeInvalidParams, Message: "invalid params: " + bad.Message}
		}
		result, err := request(ctx, p)
		if refused, ok := errors.AsType[*codelia.Error](err); ok {
			return nil, &jsonrpc.Error{Code: refused.Code, Message: refused.Message}
		}
		return result, err
	}
}

// waiting returns the request shell.wait of a session, whose result has one of two forms.
func waiting(s *codelia.Session) func(context.Context, codelia.WaitParams) (any, error) {
	return func(ctx context.Context, p codelia.WaitParams) (any, error) {
		task, detached, err := s.Wait(ctx, p)
		if detached != nil {
			return detached, nil
		}
		return task, err
	}
}
