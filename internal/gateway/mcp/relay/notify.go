package relay

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// markKey is the key in _meta of the method that a marked message stands for.
const markKey = "troupe/notice"

// Notify sends a notification of any method. Sent in the context of a request, it goes with
// the reply to that request.
func Notify(ctx context.Context, session *mcp.ServerSession, method string, params any) error {
	n := &notice{method: method, params: params}
	return session.NotifyProgress(context.WithValue(ctx, noticeKey{}, n), &mcp.ProgressNotificationParams{})
}

// Sending wraps a sending handler and puts the notification in place of the progress. Wrapping
// it twice has no second effect.
func Sending(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, r mcp.Request) (mcp.Result, error) {
		n, ok := ctx.Value(noticeKey{}).(*notice)
		if !ok {
			return next(ctx, method, r)
		}
		session, _ := r.GetSession().(*mcp.ServerSession)
		return next(ctx, method, &mcp.ServerRequest[*notice]{Session: session, Params: n})
	}
}

// noticeKey is the context key of the notice sent in place of progress.
type noticeKey struct{}

// notice has the parameters of a notification.
type notice struct {
	mcp.ParamsBase
	method string
	params any
}

// MarshalJSON writes the parameters with the mark.
func (n *notice) MarshalJSON() ([]byte, error) {
	text, err := json.Marshal(n.params)
	if err != nil {
		return nil, err
	}
	fields, meta := map[string]json.RawMessage{}, map[string]any{}
	if err := json.Unmarshal(text, &fields); err != nil {
		return nil, err
	}
	if given := fields["_meta"]; given != nil {
		if err := json.Unmarshal(given, &meta); err != nil {
			return nil, err
		}
	}
	meta[markKey] = n.method
	if fields["_meta"], err = json.Marshal(meta); err != nil {
		return nil, err
	}
	return json.Marshal(fields)
}
