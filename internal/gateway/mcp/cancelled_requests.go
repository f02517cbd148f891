package mcp

import (
	"encoding/json"
	"fmt"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Methods that decide whether a request is cancelled.
const (
	initialize = "initialize" // cannot be cancelled
	cancelled  = "notifications/cancelled"
)

// maxPending bounds the requests of a client on stdio that have no response yet. Those that wait
// have lower bounds of their own: calls, tasks, streams.
const maxPending = 1024

// pendingRequests are the requests without a response. A request that its client has
// cancelled gets none: the client may have reused its id.
type pendingRequests struct {
	mu   sync.Mutex
	open map[jsonrpc.ID]bool // false: cancelled
}

// accept records a message of the client, or returns why it cannot be answered. A request
// cannot if another one with its id is pending, cancelled or not.
func (o *pendingRequests) accept(m jsonrpc.Message) *jsonrpc.Error {
	r, ok := m.(*jsonrpc.Request)
	if !ok || r.Method == initialize {
		return nil
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.IsCall() {
		if _, open := o.open[r.ID]; open {
			return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: "a request with this id is under way; give each one of its own"}
		}
		if len(o.open) >= maxPending {
			return &jsonrpc.Error{Code: jsonrpc.CodeInvalidRequest, Message: fmt.Sprintf("limit of %d requests at a time reached; wait for a response", maxPending)}
		}
		if o.open == nil {
			o.open = map[jsonrpc.ID]bool{}
		}
		o.open[r.ID] = true
		return nil
	}
	var what struct {
		ID any `json:"requestId"`
	}
	if r.Method != cancelled || json.Unmarshal(r.Params, &what) != nil {
		return nil
	}
	if id, err := jsonrpc.MakeID(what.ID); err == nil && o.open[id] {
		o.open[id] = false
	}
	return nil
}

// sends reports whether a message goes to the client: any message except the response
// to a cancelled request.
func (o *pendingRequests) sends(m jsonrpc.Message) bool {
	r, ok := m.(*jsonrpc.Response)
	if !ok {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	wanted, open := o.open[r.ID]
	delete(o.open, r.ID)
	return wanted || !open
}
