package mcp

import (
	"encoding/json"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// What a client says, and cancels.
const (
	initialize = "initialize" // which cannot be cancelled
	cancelled  = "notifications/cancelled"
)

// pendingRequests are the requests that have no response yet. One that its client has cancelled
// gets none: he has forgotten its id, or has given it to another.
type pendingRequests struct {
	mu   sync.Mutex
	open map[jsonrpc.ID]bool // false: it was cancelled
}

// hears takes notice of a message of the client, and reports whether it can be answered:
// a request cannot whose id another one has that is under way, cancelled or not.
func (o *pendingRequests) hears(m jsonrpc.Message) bool {
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

// sends reports whether a message is sent to the client: any but the response to a
// request that was cancelled.
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
