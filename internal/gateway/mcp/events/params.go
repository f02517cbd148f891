package events

import (
	"encoding/json"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// Extension is the name of the extension in capabilities.
const Extension = "io.modelcontextprotocol/events"

// Methods and notifications of the extension.
const (
	listMethod        = "events/list"
	pollMethod        = "events/poll"
	streamMethod      = "events/stream"
	subscribeMethod   = "events/subscribe"
	unsubscribeMethod = "events/unsubscribe"

	activeNotice    = "notifications/events/active"
	eventNotice     = "notifications/events/event"
	heartbeatNotice = "notifications/events/heartbeat"
	errorNotice     = "notifications/events/error"
)

// Codes of errors, beside those of JSON-RPC.
const (
	codeNotFound    = -32023
	codeExhausted   = -32025
	codeUnsupported = -32026
)

// complete is the type of every result.
const complete = "complete"

// delivery names the modes in which every event type is delivered.
var delivery = []string{"poll", "push"}

// listParams has the parameters of events/list.
type listParams struct {
	mcp.ParamsBase
	Cursor *string `json:"cursor"`
}

// listResult is the reply to events/list.
type listResult struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
	Events     []Type `json:"events"`
}

// request has the parameters of the methods that name an event type. MaxEvents is of
// events/poll.
type request struct {
	mcp.ParamsBase
	Name      string          `json:"name"`
	Arguments json.RawMessage `json:"arguments"`
	Cursor    *string         `json:"cursor"` // nil: from now on
	MaxAgeMs  *int64          `json:"maxAgeMs"`
	MaxEvents *int            `json:"maxEvents"`
}

// Methods with the same parameters have types of their own: the SDK finds a handler by
// its method, a middleware by the type.
type (
	pollParams      struct{ request }
	streamParams    struct{ request }
	subscribeParams struct{ request }
)

// pollResult is the reply to events/poll.
type pollResult struct {
	mcp.ResultBase
	ResultType string       `json:"resultType"`
	Events     []occurrence `json:"events"`
	Cursor     string       `json:"cursor"`
	Truncated  bool         `json:"truncated"`
	HasMore    bool         `json:"hasMore"`
	NextPollMs int64        `json:"nextPollMs"`
}

// streamResult ends a stream.
type streamResult struct {
	mcp.ResultBase
	ResultType string `json:"resultType"`
}

// occurrence is one event on the wire.
type occurrence struct {
	ID        string `json:"eventId"`
	Name      string `json:"name"`
	Timestamp string `json:"timestamp"`
	Data      any    `json:"data"`
	position
}

// position is a cursor in a notification, and the stream that it belongs to.
type position struct {
	Cursor    string         `json:"cursor,omitempty"`
	Truncated *bool          `json:"truncated,omitempty"`
	Meta      map[string]any `json:"_meta,omitempty"`
}

// trouble has the parameters of notifications/events/error.
type trouble struct {
	Error *jsonrpc.Error `json:"error"`
	Meta  map[string]any `json:"_meta"`
}

// occurs returns an event of a type without its position.
func occurs(name string, e Event) occurrence {
	return occurrence{ID: e.ID, Name: name, Timestamp: e.At.UTC().Format("2006-01-02T15:04:05.000Z07:00"), Data: e.Data}
}

// fault returns a protocol error. Nil data is left out.
func fault(code int64, message string, data map[string]any) error {
	e := &jsonrpc.Error{Code: code, Message: message}
	if data != nil {
		e.Data, _ = json.Marshal(data) // of strings and numbers
	}
	return e
}

// InvalidParams returns the error for a request that can never succeed.
func InvalidParams(message string) error { return fault(jsonrpc.CodeInvalidParams, message, nil) }

// NotFound returns the error for an unknown thing of some kind.
func NotFound(kind, message string) error {
	return fault(codeNotFound, message, map[string]any{"kind": kind})
}

// nextPoll is the interval at which a client polls when it has all events. A poll is a
// request to the daemon, and the end of a job is not urgent to a second.
const nextPoll = time.Second
