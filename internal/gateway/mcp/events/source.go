package events

import (
	"context"
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Type is an event type. The schemas are JSON Schema.
type Type struct {
	Name          string          `json:"name"`
	Description   string          `json:"description"`
	Delivery      []string        `json:"delivery"` // Serve sets it
	InputSchema   json.RawMessage `json:"inputSchema"`
	PayloadSchema json.RawMessage `json:"payloadSchema"`
}

// Event is one event.
type Event struct {
	ID     string
	At     time.Time
	Data   any    // of the payload schema
	Cursor string // the position after the event
}

// Query asks for events of one type.
type Query struct {
	Type      string
	Arguments json.RawMessage // nil: none
	Cursor    string          // "": only the present position is wanted
	Max       int             // events of a page
}

// Page is some events in order.
type Page struct {
	Start     string // the position before the first event
	Truncated bool   // events between the cursor and Start are not held any more
	Events    []Event
	Next      string // the position after the last event that was checked
	More      bool   // later events existed when the page was read
}

// Source has the events of one client. Its errors are those of package events, for the
// client; any other means that the events cannot be read now.
type Source interface {
	// Types returns the event types.
	Types() []Type
	// Check prepares the client of a request. It refuses arguments that no query may have, and
	// returns the query with arguments that mean the same for as long as it is used.
	Check(ctx context.Context, r mcp.Request, q Query) (Query, error)
	// Read returns the events after a cursor. A page ends before a gap.
	Read(ctx context.Context, q Query) (Page, error)
	// Watch returns a channel that receives when later events may have come, from the next
	// Follow on. Call stop in the end.
	Watch() (changed <-chan struct{}, stop func())
	// Follow begins to notice events, also again after the source was away. It is cheap if
	// that has begun.
	Follow(ctx context.Context, q Query) error
}
