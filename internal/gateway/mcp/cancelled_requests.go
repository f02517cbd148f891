package mcp

import (
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// Methods that decide whether a request is cancelled.
const (
	initialize = "initialize" // cannot be cancelled
	cancelled  = "notifications/cancelled"
)

// pendingRequests are the requests without a response. A request that its client has
// cancelled gets none: the client may have reused its id.
type pendingRequests struct {
	mu   sync.Mutex
	open map[jsonrpc.ID]bool // false: cancelled
}

// accept records a message of the client and reports whether it can be answered. A
// request cannot if another one with its id is pending, cancelled or not.
func (o *pendingRequests) accept(m jsonrpc.Message) bool {
	r, ok := m.(*jsonrpc.Request)
	if !ok || r.Method == initialize {
		return true
	}
	o.mu.Lock()
	defer o.mu.Unlock()
	if r.IsCall() {
		if _, open := o.open[r.ID]; open {
			return false
		}
		if o.open == nil {
			o.open = map[jsonrpc.ID]bool{}
		}
		o.open[r.ID] = true
		return true
	}
	var what struct {
		ID any `json:"requestId"`
	}
	if r.Method != cancelled || json.Unmarshal(r.Params, &what) != nil {
		return true
	}
	if id, err := jsonrpc.MakeID(what.ID); err == nil && o.open[id] {
		o.open[id] = false
	}
	return true
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
